import { DRIFT } from '../local-clocks.ts';
import type { Limit } from '../store.ts';
import { grantOf, type Grant, type Run, type Slice } from './slice.ts';

/** Fewer units are not worth a slice: they are decided one by one. */
const LEAST_UNITS = 8;
/** The first slice of a key, of whose limit nothing is known yet. */
const FIRST_UNITS = 16;
/** How much larger than the one before a slice may be. */
const GROWTH = 4;
/** A process takes one of so many parts of what is left at a time, so that the others find something too. */
const PARTS = 2;
/** What can be spent for less than that is not worth asking for. */
const SHORTEST_MS = 4;

/** A key that is asked for often: what this process holds of it, and how much it asks for next. */
export class LeasedKey {
  readonly limit: Limit;
  readonly subject: string;
  /** Spent first, */
  current: Slice | undefined;
  /** and then the one that was asked for meanwhile. */
  next: Slice | undefined;
  isAsking = false;
  /** What it was still to get is void. */
  isDropped = false;
  /** Until then it asks for nothing. */
  restUntilMs: number = -Infinity;
  /** What had been asked for when somebody last looked whether it still is, and since when there is no more. */
  seen = 0;
  idleSinceMs: number;
  /** Units spent of slices that are gone, and units that no slice had. */
  #spent = 0;
  #unserved = 0;
  /** What had been asked for when it was measured last, and when that was. */
  #marked = 0;
  #markedAtMs: number;
  #lastUnits = FIRST_UNITS / GROWTH;
  /** The key as it was last seen, after this process took its slice. */
  #known: { readonly states: readonly unknown[]; readonly atMs: number; readonly sentMs: number } | undefined;

  constructor(limit: Limit, subject: string, nowMs: number) {
    this.limit = limit;
    this.subject = subject;
    this.#markedAtMs = this.idleSinceMs = nowMs;
  }

  /** Units that were asked for here so far. */
  get demanded(): number {
    return this.#spent + spentOf(this.current) + spentOf(this.next) + this.#unserved;
  }

  noteUnserved(cost: number): void {
    this.#unserved += cost;
  }

  /** Lets go of the slice that is spent first. */
  shift(): void {
    this.#spent += spentOf(this.current);
    this.current = this.next;
    this.next = undefined;
  }

  /**
   * How many units to ask for: what is asked of this process in `horizonMs`, unless that is much more than before, more than
   * can be spent in the window, or too much of what is left. 0 when it is not worth a call.
   */
  wanted(nowMs: number, horizonMs: number): number {
    if (this.isAsking || this.next !== undefined || nowMs < this.restUntilMs) return 0;
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

  asks(nowMs: number): void {
    this.isAsking = true;
    this.#mark(nowMs);
  }

  /** Keeps in mind how the key stands. */
  learn({ units, states }: Grant, { atMs, sentMs }: Run): void {
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
