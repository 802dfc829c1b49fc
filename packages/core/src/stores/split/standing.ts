import { StoreError, shown } from '../../errors.ts';
import { KnownEpochs } from './known-epochs.ts';
import { DRIFT, type LocalClocks } from '../local-clocks.ts';
import type { MembershipClock } from './membership-clock.ts';
import type { Confirmation, Membership, PlainConfirmation, TimedConfirmation } from './membership.ts';
import { HEAVIEST, isWeight } from './weight.ts';

/** How much longer than a member's time to live epochs count, where nothing else is said. */
const MORE_GRACE_MS = 1000;

/** Where this instance stands among the members: what it was told, when, and whether that still holds. */
export class Standing {
  readonly epochs: KnownEpochs;
  readonly #clock: MembershipClock;
  readonly #local: LocalClocks;
  readonly #ttlMs: number;
  readonly #givenGraceMs: number | undefined;
  readonly #leave: (() => Promise<void> | void) | undefined;
  #longestTtlMs: number;
  /** When the membership was asked that answered last. */
  #asked: { readonly atMs: number; readonly dateMs: number } | undefined;
  #trouble: unknown;
  #plainMembers: string | undefined;
  #hasLeft = false;
  readonly #joinedAtMs: number;

  /** Becomes a member, and is told from then on. */
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
      this.#asked = this.#now();
      this.epochs.addEquals(membership);
      return;
    }
    this.#leave = membership.join(
      (confirmation) => {
        this.#confirm(confirmation);
      },
      (error) => (this.#trouble = error),
    );
  }

  /** Has no share from now on. */
  async leave(): Promise<void> {
    this.#hasLeft = true;
    this.#asked = undefined;
    await this.#leave?.();
  }

  /** How long after an epoch is over somebody may still act by it. */
  get graceMs(): number {
    if (this.#ttlMs === Infinity) return this.#givenGraceMs ?? 0;
    // Others may wait longer until they take a member for gone, and act by old epochs for as long.
    return (this.#givenGraceMs ?? this.#ttlMs + MORE_GRACE_MS) + this.#longestTtlMs - this.#ttlMs;
  }

  /**
   * Whether the membership still counts this instance, asked at every decision: by the clock that never goes back, and by
   * the one that goes on while a machine is suspended.
   */
  get isConfirmed(): boolean {
    if (this.#asked === undefined) return false;
    return this.#sinceAskedMs(this.#asked) < this.#ttlMs * (1 - DRIFT);
  }

  /**
   * Whether it has only just joined, and been told nothing yet: it would have no share in any case, so that this is no
   * failure for as long as the grace time.
   */
  get isStarting(): boolean {
    if (this.#asked !== undefined || this.#hasLeft) return false;
    return this.#local.monotonicMs() - this.#joinedAtMs < this.graceMs;
  }

  /** Says why this instance is not confirmed. */
  unconfirmed(): StoreError {
    const why =
      this.#asked === undefined
        ? 'the membership has not answered yet'
        : `the membership answered last to what was asked ${String(Math.round(this.#sinceAskedMs(this.#asked)))} ms ago, and takes a member for gone after ${String(this.#ttlMs)} ms`;
    const trouble = this.#trouble instanceof Error ? `: ${this.#trouble.message}` : '';
    return new StoreError(
      'SLUICE_SPLIT_UNCONFIRMED',
      `this instance has no share at the moment, for ${why}${trouble}`,
      {
        cause: this.#trouble,
      },
    );
  }

  #sinceAskedMs({ atMs, dateMs }: { readonly atMs: number; readonly dateMs: number }): number {
    return Math.max(this.#local.monotonicMs() - atMs, this.#local.dateMs() - dateMs);
  }

  #now(): { readonly atMs: number; readonly dateMs: number } {
    return { atMs: this.#local.monotonicMs(), dateMs: this.#local.dateMs() };
  }

  #confirm(confirmation: Confirmation): void {
    if (this.#hasLeft) return;
    if ('members' in confirmation) this.#confirmPlain(confirmation);
    else this.#confirmTimed(confirmation);
    this.#trouble = undefined;
  }

  #confirmTimed(confirmation: TimedConfirmation): void {
    const { askedAtMs, askedAtDateMs, atMs, epochs, continues, longestTtlMs } = confirmation;
    // What comes late says nothing that is not known by now.
    if (this.#asked !== undefined && askedAtMs < this.#asked.atMs) return;
    epochs.forEach(({ members }) => {
      checkMembers(members);
    });
    const goesOn = continues && this.#asked !== undefined;
    if (!goesOn) this.#clock.forget();
    this.#clock.note({ atMs, askedAtMs, askedAtDateMs });
    this.#asked = { atMs: askedAtMs, dateMs: askedAtDateMs };
    if (longestTtlMs !== undefined) this.#longestTtlMs = Math.max(longestTtlMs, this.#ttlMs);
    if (goesOn) {
      for (const { fromMs, members } of epochs) this.epochs.add(fromMs, members);
    } else {
      this.epochs.beginAt(atMs);
      this.epochs.add(atMs, epochs.at(-1)?.members ?? {});
    }
  }

  #confirmPlain({ members }: PlainConfirmation): void {
    checkMembers(members);
    this.#asked = this.#now();
    const told = JSON.stringify(Object.entries(members).sort(([a], [b]) => (a < b ? -1 : 1)));
    if (told === this.#plainMembers) return;
    this.#clock.read();
    const isAlways = this.#plainMembers === undefined && this.#ttlMs === Infinity;
    const fromMs = isAlways ? -Infinity : this.#clock.latestMs;
    if (this.#plainMembers === undefined) this.epochs.beginAt(fromMs);
    this.epochs.add(fromMs, members);
    this.#plainMembers = told;
  }
}

function checkMembers(members: Readonly<Record<string, number>>): void {
  for (const [id, weight] of Object.entries(members)) {
    if (isWeight(weight)) continue;
    throw new RangeError(
      `the weight of a member is a whole number from 1 to ${String(HEAVIEST)}, got ${shown(weight)} for ${shown(id)}`,
    );
  }
}
