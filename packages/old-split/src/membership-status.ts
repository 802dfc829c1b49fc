import { DRIFT, type LocalClocks, shown } from '@sluice/old-core/spi';
import { StoreError } from '@sluice/old-core';
import { KnownEpochs } from './shares/known-epochs.ts';
import type { MembershipClock } from './membership/membership-clock.ts';
import type { Confirmation, Membership, UntimedConfirmation, TimedConfirmation } from './membership/membership.ts';
import { HEAVIEST, isWeight } from './values/weight.ts';

/** How much longer than a member's time to live epochs count, if `graceMs` is not given. */
const EXTRA_GRACE_MS = 1000;

/** A moment, by the clock that never goes back and by the date. */
interface Instant {
  readonly atMs: number;
  readonly dateMs: number;
}

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
  #lastRequest: Instant | undefined;
  #lastFailure: unknown;
  #untimedMembers: string | undefined;
  /** Until then this instance is not confirmed, because the registry was away for longer than the time to live. */
  #returnsAtMs: number | undefined;
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
    if (this.#lastRequest === undefined || !this.#isRecent(this.#lastRequest)) return false;
    return this.#returnsAtMs === undefined || this.#hasReturned(this.#returnsAtMs);
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
    const why = this.#whyUnconfirmed();
    const failure = this.#lastFailure instanceof Error ? `: ${this.#lastFailure.message}` : '';
    return new StoreError('SLUICE_SPLIT_UNCONFIRMED', `this instance has no share at the moment: ${why}${failure}`, {
      cause: this.#lastFailure,
    });
  }

  #whyUnconfirmed(): string {
    if (this.#lastRequest === undefined) return 'the membership has not replied yet';
    if (this.#isRecent(this.#lastRequest)) {
      return `the membership was away for more than ${String(this.#ttlMs)} ms, so that others may have taken over its share`;
    }
    return `the latest reply of the membership is to a request sent ${String(Math.round(this.#sinceRequestMs(this.#lastRequest)))} ms ago, and a member expires after ${String(this.#ttlMs)} ms`;
  }

  #isRecent(request: Instant): boolean {
    return this.#sinceRequestMs(request) < this.#ttlMs * (1 - DRIFT);
  }

  #hasReturned(atMs: number): boolean {
    if (this.#local.monotonicMs() < atMs) return false;
    this.#returnsAtMs = undefined;
    return true;
  }

  #sinceRequestMs({ atMs, dateMs }: Instant): number {
    return Math.max(this.#local.monotonicMs() - atMs, this.#local.dateMs() - dateMs);
  }

  #now(): Instant {
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

  #confirmUntimed({ members, askedAtMs, askedAtDateMs }: UntimedConfirmation): void {
    checkMembers(members);
    const now = this.#now();
    const isFirst = this.#lastRequest === undefined;
    const isLapsed = this.#lastRequest !== undefined && !this.#isRecent(this.#lastRequest);
    this.#lastRequest = { atMs: askedAtMs ?? now.atMs, dateMs: askedAtDateMs ?? now.dateMs };
    const text = JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (text === this.#untimedMembers && !isLapsed) return;
    this.#clock.read();
    const fromMs = isFirst && this.#ttlMs === Infinity ? -Infinity : this.#clock.latestMs;
    if (isFirst || isLapsed) this.epochs.beginAt(fromMs);
    // Meanwhile others may have taken over this share: it begins again, and no sooner than that of a new member.
    if (isLapsed) this.#returnsAtMs = now.atMs + this.graceMs;
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
