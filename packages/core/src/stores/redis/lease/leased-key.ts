import { DRIFT } from '../../../platform/clock.ts';
import type { Limit } from '../../../engine/store.ts';
import { grantOf, type Grant, type GrantReply, type Slice } from './slice.ts';

/** Fewer units are decided one by one. */
const LEAST_UNITS = 8;
/** The size of the first slice of a key, before anything is known of its limit. */
const FIRST_UNITS = 16;
/** How many times larger than the last one a slice may be. */
const GROWTH = 4;
/** A process takes this part of what is left at a time, so that others find units too. */
const PARTS = 2;
/** Units that cannot be spent for longer than this are not worth a call. */
const SHORTEST_MS = 4;

/** A hot key: the slices that this process holds, and how many units it requests next. */
export class LeasedKey {
  readonly limit: Limit;
  readonly subject: string;
  /** Spent first. */
  current: Slice | undefined;
  /** Spent next: requested while the current one is spent. */
  next: Slice | undefined;
  isRequesting = false;
  /** Set when a grant in flight is void. */
  isDropped = false;
  /** No request before this instant. */
  restUntilMs: number = -Infinity;
  /** The demand at the last sweep, and the instant since which it has not grown. */
  demandedAtSweep = 0;
  idleSinceMs: number;
  /** Units spent from former slices, and units that no slice had. */
  #spent = 0;
  #unserved = 0;
  /** The demand at the last measurement, and its instant. */
  #marked = 0;
  #markedAtMs: number;
  #lastUnits = FIRST_UNITS / GROWTH;
  /** The key after the last grant. */
  #known: { readonly states: readonly unknown[]; readonly atMs: number; readonly sentMs: number } | undefined;

  constructor(limit: Limit, subject: string, nowMs: number) {
    this.limit = limit;
    this.subject = subject;
    this.#markedAtMs = this.idleSinceMs = nowMs;
  }

  /** Units requested in this process so far. */
  get demanded(): number {
    return this.#spent + spentOf(this.current) + spentOf(this.next) + this.#unserved;
  }

  addUnserved(cost: number): void {
    this.#unserved += cost;
  }

  /** The first live slice that holds this many units. */
  spendable(cost: number, nowMs: number, dateMs: number): Slice | undefined {
    if (this.current !== undefined && cost <= this.current.left && this.current.isLive(nowMs, dateMs)) {
      return this.current;
    }
    return this.next !== undefined && cost <= this.next.left && this.next.isLive(nowMs, dateMs) ? this.next : undefined;
  }

  /** Drops the current slice. */
  shift(): void {
    this.#spent += spentOf(this.current);
    this.current = this.next;
    this.next = undefined;
  }

  /**
   * How many units to request: what this process needs in `horizonMs`, unless that is much more than before, more
   * than can be spent in the window, or too much of what is left. 0 when a call is not worth it.
   */
  unitsToRequest(nowMs: number, horizonMs: number): number {
    if (this.isRequesting || this.next !== undefined || nowMs < this.restUntilMs) return 0;
    const units = this.demanded - this.#marked;
    if (this.#known === undefined) return FIRST_UNITS;
    if (units < LEAST_UNITS) return 0;
    const passedMs = Math.max(nowMs - this.#markedAtMs, 1);
    const perMs = units / passedMs;
    if (perMs * horizonMs < LEAST_UNITS) {
      this.#mark(nowMs);
      return 0;
    }
    const thereMs = this.#known.atMs + Math.max(Math.floor((nowMs - this.#known.sentMs) * (1 - DRIFT)), 0);
    const first = grantOf(this.limit, { blockedUntilMs: 0, states: this.#known.states }, 1, thereMs);
    const spendableMs = first.endMs - thereMs;
    const wanted = Math.min(
      Math.ceil(perMs * horizonMs),
      this.#lastUnits * GROWTH,
      Math.ceil(perMs * spendableMs) - leftOf(this.current),
      Math.floor((first.units + first.left) / PARTS),
    );
    if (wanted >= LEAST_UNITS && spendableMs >= SHORTEST_MS) return wanted;
    this.restUntilMs = nowMs + horizonMs / 20;
    return 0;
  }

  markRequested(nowMs: number): void {
    this.isRequesting = true;
    this.#mark(nowMs);
  }

  /** Remembers the key after a grant. */
  learn({ units, states }: Grant, { atMs, sentMs }: GrantReply): void {
    this.#known = { states, atMs, sentMs };
    this.#lastUnits = Math.max(units, FIRST_UNITS / GROWTH);
  }

  #mark(nowMs: number): void {
    this.#marked = this.demanded;
    this.#markedAtMs = nowMs;
  }
}

function spentOf(slice: Slice | undefined): number {
  return slice?.spent ?? 0;
}

function leftOf(slice: Slice | undefined): number {
  return slice?.left ?? 0;
}
