import { shown, StoreError } from '../errors.ts';
import { KnownEpochs } from './shares/known-epochs.ts';
import { type AskedAt, type LocalTime, passedSince } from './membership/local-time.ts';
import {
  type Confirmation,
  isWeight,
  MAX_WEIGHT,
  type Membership,
  type Members,
  type TimedConfirmation,
  type UntimedConfirmation,
} from './membership/membership.ts';
import { DRIFT, type MembershipClock } from './membership/membership-clock.ts';

/** How much longer than a member's time to live epochs count, if `graceMs` is not given. */
const EXTRA_GRACE_MS = 1000;

/** This instance's membership: the epochs it knows, when they were confirmed, and whether that is still valid. */
export class MembershipStatus {
  readonly epochs: KnownEpochs;
  /** Grows with every change of what shares depend on. */
  version = 0;
  readonly #clock: MembershipClock;
  readonly #local: LocalTime;
  readonly #ttlMs: number;
  readonly #givenGraceMs: number | undefined;
  readonly #leave: () => Promise<void> | void;
  #longestTtlMs: number;
  /** When the request was sent whose reply is the latest. */
  #asked: AskedAt | undefined;
  #lastFailure: unknown;
  #untimedMembers: string | undefined;
  /** Until then this instance is not confirmed, because the registry was away for longer than the time to live. */
  #returnsAtMs = -Infinity;
  #hasLeft = false;
  readonly #joinedAtMs: number;

  /** Joins the membership and follows its confirmations. */
  constructor(membership: Membership, graceMs: number | undefined, clock: MembershipClock, local: LocalTime) {
    this.#clock = clock;
    this.#local = local;
    this.#givenGraceMs = graceMs;
    this.#ttlMs = this.#longestTtlMs = membership.ttlMs;
    this.epochs = new KnownEpochs(membership.id);
    this.#joinedAtMs = local.monotonicMs();
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
    this.#asked = undefined;
    await this.#leave();
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
    return this.#asked !== undefined && this.#isRecent(this.#asked) && this.#local.monotonicMs() >= this.#returnsAtMs;
  }

  /**
   * Whether this instance has joined but has no reply yet. During the grace time this is not a failure, because a new
   * instance has no share in any case.
   */
  get isStarting(): boolean {
    if (this.#asked !== undefined || this.#hasLeft) return false;
    return this.#local.monotonicMs() - this.#joinedAtMs < this.graceMs;
  }

  /** The error that explains why this instance is not confirmed. */
  unconfirmedError(): StoreError {
    const expires = `a member expires after ${String(this.#ttlMs)} ms, and then others may take over its share`;
    let why = 'the membership has not replied yet';
    if (this.#asked !== undefined) {
      const passedMs = Math.round(passedSince(this.#asked, this.#local));
      why = `the latest reply of the membership is to a request sent ${String(passedMs)} ms ago; ${expires}`;
    }
    const failure = this.#lastFailure instanceof Error ? `: ${this.#lastFailure.message}` : '';
    const message = `this instance has no share at the moment: ${why}${failure}`;
    return new StoreError('SLUICE_SPLIT_UNCONFIRMED', message, { cause: this.#lastFailure, sent: false });
  }

  #isRecent(asked: AskedAt): boolean {
    return passedSince(asked, this.#local) < this.#ttlMs * (1 - DRIFT);
  }

  #confirm(confirmation: Confirmation): void {
    if (this.#hasLeft) return;
    if ('members' in confirmation) this.#confirmUntimed(confirmation);
    else this.#confirmTimed(confirmation);
    this.#lastFailure = undefined;
  }

  #confirmTimed(confirmation: TimedConfirmation): void {
    const { atMs, epochs, continues, longestTtlMs = this.#ttlMs } = confirmation;
    // A reply to an earlier request is outdated.
    if (this.#asked !== undefined && confirmation.askedAtMs < this.#asked.askedAtMs) return;
    for (const { members } of epochs) checkMembers(members);
    const isContinued = continues && this.#asked !== undefined;
    if (!isContinued) this.#clock.forget();
    this.#clock.add(confirmation);
    this.#asked = confirmation;
    if (!isContinued) {
      this.epochs.beginAt(atMs);
      this.epochs.add(atMs, epochs.at(-1)?.members ?? {});
    } else for (const { fromMs, members } of epochs) this.epochs.add(fromMs, members);
    if (isContinued && epochs.length === 0 && longestTtlMs === this.#longestTtlMs) return;
    this.#longestTtlMs = Math.max(longestTtlMs, this.#ttlMs);
    this.version++;
  }

  #confirmUntimed(confirmation: UntimedConfirmation): void {
    const { members } = confirmation;
    checkMembers(members);
    const isFirst = this.#asked === undefined;
    const isLapsed = this.#asked !== undefined && !this.#isRecent(this.#asked);
    this.#asked = confirmation;
    const text = JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (text === this.#untimedMembers && !isLapsed) return;
    this.#clock.read();
    const fromMs = isFirst && this.#ttlMs === Infinity ? -Infinity : this.#clock.latestMs;
    if (isFirst || isLapsed) this.epochs.beginAt(fromMs);
    // Meanwhile others may have taken over this share: it begins again, and no sooner than that of a new member.
    if (isLapsed) this.#returnsAtMs = this.#local.monotonicMs() + this.graceMs;
    this.epochs.add(fromMs, members);
    this.#untimedMembers = text;
    this.version++;
  }
}

function checkMembers(members: Members): void {
  for (const [id, weight] of Object.entries(members)) {
    if (isWeight(weight)) continue;
    const expected = `a whole number from 1 to ${String(MAX_WEIGHT)}`;
    throw new RangeError(`the weight of a member must be ${expected}, got ${shown(weight)} for ${shown(id)}`);
  }
}
