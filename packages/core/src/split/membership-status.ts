import { shown, StoreError } from '../errors.ts';
import { isWeight, MAX_WEIGHT, type Confirmation, type Membership, type Members } from './membership/membership.ts';
import { DRIFT, getPassedMs, type LocalTime, type MembershipClock } from './membership/membership-clock.ts';
import { KnownEpochs } from './shares/known-epochs.ts';

/** How much longer than a member's `ttlMs` epochs count if `graceMs` is not set. */
const EXTRA_GRACE_MS = 1000;

/** This instance's membership: the epochs it knows, when they were confirmed, and whether that is still valid. */
export class MembershipStatus {
  readonly epochs: KnownEpochs;
  /** Increases with every change that shares depend on. */
  version = 0;
  readonly #clock: MembershipClock;
  readonly #local: LocalTime;
  readonly #ttlMs: number;
  readonly #givenGraceMs: number | undefined;
  readonly #leave: () => Promise<void> | void;
  #longestTtlMs: number;
  /** The latest reply. */
  #latest: Confirmation | undefined;
  #lastFailure: unknown;
  /** Its members, as sorted text. */
  #members: string | undefined;
  /** Until then, this instance is not confirmed, because the registry was away for longer than `ttlMs`. */
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
    this.#latest = undefined;
    await this.#leave();
  }

  /** How long after the end of an epoch some instance may still act by it. */
  get graceMs(): number {
    // Members with a longer `ttlMs` use old epochs for longer.
    return (this.#givenGraceMs ?? this.#ttlMs + EXTRA_GRACE_MS) + this.#longestTtlMs - this.#ttlMs;
  }

  /**
   * Whether the membership still counts this instance. Checked at every decision, by the clock that never goes back
   * and by the one that advances while a machine is suspended.
   */
  get isConfirmed(): boolean {
    return this.#isRecent && this.#local.monotonicMs() >= this.#returnsAtMs;
  }

  /**
   * Whether this instance has joined but has no reply yet. During the grace time this is not a failure, because a new
   * instance has no share in any case.
   */
  get isStarting(): boolean {
    if (this.#latest !== undefined || this.#hasLeft) return false;
    return this.#local.monotonicMs() - this.#joinedAtMs < this.graceMs;
  }

  /** The error that explains why this instance is not confirmed. */
  unconfirmedError(): StoreError {
    const expires = `a member expires after ${String(this.#ttlMs)} ms, and then others may take over its share`;
    let why = 'the membership has not replied yet';
    if (this.#latest !== undefined) {
      const passedMs = Math.round(getPassedMs(this.#latest, this.#local));
      why = `the latest reply of the membership is to a request sent ${String(passedMs)} ms ago; ${expires}`;
    }
    const failure = this.#lastFailure instanceof Error ? `: ${this.#lastFailure.message}` : '';
    const message = `this instance currently has no share: ${why}${failure}`;
    return new StoreError('SLUICE_SPLIT_UNCONFIRMED', message, { cause: this.#lastFailure, sent: false });
  }

  get #isRecent(): boolean {
    return this.#latest !== undefined && getPassedMs(this.#latest, this.#local) < this.#ttlMs * (1 - DRIFT);
  }

  #confirm(confirmation: Confirmation): void {
    const before = this.#latest;
    // A reply to an earlier request is outdated.
    if (this.#hasLeft || (before !== undefined && confirmation.askedAtMs < before.askedAtMs)) return;
    const { members, time } = confirmation;
    checkMembers(members);
    const isLapsed = time === undefined && before !== undefined && !this.#isRecent;
    const continues = before !== undefined && !isLapsed && time?.joinedAtMs === before.time?.joinedAtMs;
    if (time !== undefined) {
      if (!continues) this.#clock.forget(); // the registry may be another one
      this.#clock.add({ ...confirmation, atMs: time.atMs });
    }
    this.#latest = confirmation;
    this.#lastFailure = undefined;
    const text = JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
    const changes = (time?.changes ?? 0) - (before?.time?.changes ?? 0);
    const isSame = continues && changes === 0 && text === this.#members;
    const longestTtlMs = Math.max(time?.longestTtlMs ?? 0, this.#ttlMs);
    if (isSame && longestTtlMs === this.#longestTtlMs) return;
    this.#longestTtlMs = longestTtlMs;
    this.version++;
    if (isSame) return;
    this.#members = text;
    this.#clock.read();
    const atMs = time?.atMs ?? this.#clock.latestMs;
    if (!continues) this.epochs.beginAt(atMs);
    // Others may have taken over this share meanwhile, so it starts again, no sooner than a new member's.
    if (isLapsed) this.#returnsAtMs = this.#local.monotonicMs() + this.graceMs;
    const fromMs = continues && time !== undefined && changes > 0 ? time.fromMs : atMs;
    this.epochs.add(fromMs, members, continues && time !== undefined && changes !== 1);
  }
}

function checkMembers(members: Members): void {
  for (const [id, weight] of Object.entries(members)) {
    if (isWeight(weight)) continue;
    const expected = `a whole number from 1 to ${String(MAX_WEIGHT)}`;
    throw new RangeError(`the weight of a member must be ${expected}, got ${shown(weight)} for ${shown(id)}`);
  }
}
