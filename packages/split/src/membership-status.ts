import { DRIFT, type LocalClocks, shown } from '@sluice/core/spi';
import { StoreError } from '@sluice/core';
import { KnownEpochs } from './shares/known-epochs.ts';
import type { MembershipClock } from './membership/membership-clock.ts';
import type { Confirmation, Membership, UntimedConfirmation, TimedConfirmation } from './membership/membership.ts';
import { HEAVIEST, isWeight } from './values/weight.ts';

/** How much longer than a member's time to live epochs count, if `graceMs` is not given. */
const EXTRA_GRACE_MS = 1000;

/** This instance's membership: the epochs it knows, when they were confirmed, and whether that is still valid. */
export class MembershipStatus {
  readonly epochs: KnownEpochs;
  readonly #clock: MembershipClock;
  readonly #local: LocalClocks;
  readonly #ttlMs: number;
  readonly #givenGraceMs: number | undefined;
  readonly #leave: (() => Promise<void> | void) | undefined;
  #longestTtlMs: number;
  /** When the request was sent whose reply is the latest. */
  #lastRequest: { readonly atMs: number; readonly dateMs: number } | undefined;
  #lastFailure: unknown;
  #untimedMembers: string | undefined;
  #hasLeft = false;
  readonly #joinedAtMs: number;

  /** Joins the membership and follows its confirmations. */
  constructor(
    membership: Membership | number,
    graceMs: number | undefined,
    clock: MembershipClock,
    local: LocalClocks,
  ) {
    this.#clock = clock;
    this.#local = local;
    this.#givenGraceMs = graceMs;
    this.#ttlMs = this.#longestTtlMs = typeof membership === 'number' ? Infinity : membership.ttlMs;
    this.epochs = new KnownEpochs(typeof membership === 'number' ? '' : membership.id);
    this.#joinedAtMs = local.monotonicMs();
    if (typeof membership === 'number') {
      this.#lastRequest = this.#now();
      this.epochs.addEquals(membership);
      return;
    }
    this.#leave = membership.join(
      (confirmation) => {
        this.#confirm(confirmation);
      },
      (error) => (this.#lastFailure = error),
    );
  }

  /** Leaves the membership: this instance has no share from now on. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    this.#lastRequest = undefined;
    await this.#leave?.();
  }

  /** How long after the end of an epoch some instance may still act by it. */
  get graceMs(): number {
    if (this.#ttlMs === Infinity) return this.#givenGraceMs ?? 0;
    // Members with a longer time to live act by old epochs for longer.
    return (this.#givenGraceMs ?? this.#ttlMs + EXTRA_GRACE_MS) + this.#longestTtlMs - this.#ttlMs;
  }

  /**
   * Whether the membership still counts this instance. Checked at every decision, by the clock that never goes back
   * and by the one that advances while a machine is suspended.
   */
  get isConfirmed(): boolean {
    if (this.#lastRequest === undefined) return false;
    return this.#sinceRequestMs(this.#lastRequest) < this.#ttlMs * (1 - DRIFT);
  }

  /**
   * Whether this instance has joined but has no reply yet. During the grace time this is not a failure, because a new
   * instance has no share in any case.
   */
  get isStarting(): boolean {
    if (this.#lastRequest !== undefined || this.#hasLeft) return false;
    return this.#local.monotonicMs() - this.#joinedAtMs < this.graceMs;
  }

  /** The error that explains why this instance is not confirmed. */
  unconfirmedError(): StoreError {
    const why =
      this.#lastRequest === undefined
        ? 'the membership has not replied yet'
        : `the latest reply of the membership is to a request sent ${String(Math.round(this.#sinceRequestMs(this.#lastRequest)))} ms ago, and a member expires after ${String(this.#ttlMs)} ms`;
    const failure = this.#lastFailure instanceof Error ? `: ${this.#lastFailure.message}` : '';
    return new StoreError('SLUICE_SPLIT_UNCONFIRMED', `this instance has no share at the moment: ${why}${failure}`, {
      cause: this.#lastFailure,
    });
  }

  #sinceRequestMs({ atMs, dateMs }: { readonly atMs: number; readonly dateMs: number }): number {
    return Math.max(this.#local.monotonicMs() - atMs, this.#local.dateMs() - dateMs);
  }

  #now(): { readonly atMs: number; readonly dateMs: number } {
    return { atMs: this.#local.monotonicMs(), dateMs: this.#local.dateMs() };
  }

  #confirm(confirmation: Confirmation): void {
    if (this.#hasLeft) return;
    if ('members' in confirmation) this.#confirmUntimed(confirmation);
    else this.#confirmTimed(confirmation);
    this.#lastFailure = undefined;
  }

  #confirmTimed(confirmation: TimedConfirmation): void {
    const { askedAtMs, askedAtDateMs, atMs, epochs, continues, longestTtlMs } = confirmation;
    // A reply to an earlier request is outdated.
    if (this.#lastRequest !== undefined && askedAtMs < this.#lastRequest.atMs) return;
    epochs.forEach(({ members }) => {
      checkMembers(members);
    });
    const isContinued = continues && this.#lastRequest !== undefined;
    if (!isContinued) this.#clock.forget();
    this.#clock.add({ atMs, askedAtMs, askedAtDateMs });
    this.#lastRequest = { atMs: askedAtMs, dateMs: askedAtDateMs };
    if (longestTtlMs !== undefined) this.#longestTtlMs = Math.max(longestTtlMs, this.#ttlMs);
    if (isContinued) {
      for (const { fromMs, members } of epochs) this.epochs.add(fromMs, members);
    } else {
      this.epochs.beginAt(atMs);
      this.epochs.add(atMs, epochs.at(-1)?.members ?? {});
    }
  }

  #confirmUntimed({ members }: UntimedConfirmation): void {
    checkMembers(members);
    this.#lastRequest = this.#now();
    const text = JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (text === this.#untimedMembers) return;
    this.#clock.read();
    const isAlways = this.#untimedMembers === undefined && this.#ttlMs === Infinity;
    const fromMs = isAlways ? -Infinity : this.#clock.latestMs;
    if (this.#untimedMembers === undefined) this.epochs.beginAt(fromMs);
    this.epochs.add(fromMs, members);
    this.#untimedMembers = text;
  }
}

function checkMembers(members: Readonly<Record<string, number>>): void {
  for (const [id, weight] of Object.entries(members)) {
    if (isWeight(weight)) continue;
    throw new RangeError(
      `the weight of a member must be a whole number from 1 to ${String(HEAVIEST)}, got ${shown(weight)} for ${shown(id)}`,
    );
  }
}
