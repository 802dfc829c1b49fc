import type { Client } from '../replay/client.ts';
import type { TimeSpans } from '../replay/time-series.ts';
import { Distribution } from './distribution.ts';
import { LEVELS, levelOf } from './levels.ts';

/** The windows whose peaks are kept. They begin with a request, as those of `fixedWindow` do. */
export const WINDOWS: readonly { readonly text: string; readonly ms: number }[] = [
  { text: '1s', ms: 1000 },
  { text: '1m', ms: 60_000 },
  { text: '1h', ms: 3_600_000 },
];

/** Rates of buckets, by the time in which one token comes back: each a whole number of milliseconds, so that all is exact. */
export const RATES: readonly { readonly refill: number; readonly every: string; readonly tokenMs: number }[] = [
  { refill: 1, every: '1m', tokenMs: 60_000 },
  { refill: 5, every: '1m', tokenMs: 12_000 },
  { refill: 10, every: '1m', tokenMs: 6000 },
  { refill: 30, every: '1m', tokenMs: 2000 },
  { refill: 1, every: '1s', tokenMs: 1000 },
  { refill: 2, every: '1s', tokenMs: 500 },
  { refill: 5, every: '1s', tokenMs: 200 },
  { refill: 10, every: '1s', tokenMs: 100 },
  { refill: 20, every: '1s', tokenMs: 50 },
  { refill: 50, every: '1s', tokenMs: 20 },
  { refill: 100, every: '1s', tokenMs: 10 },
];

const WINDOW_COUNT = WINDOWS.length;
const RATE_COUNT = RATES.length;
/** Per client: ends, counts and peaks of the windows; the last instant; debts and largest debts of the rates. */
const [COUNTS, TOPS, LAST] = [WINDOW_COUNT, 2 * WINDOW_COUNT, 3 * WINDOW_COUNT];
const [DEBTS, LARGEST] = [LAST + 1, LAST + 1 + RATE_COUNT];
const SIZE = LARGEST + RATE_COUNT;
const LENGTHS: readonly number[] = WINDOWS.map(({ ms }) => ms);
const TOKENS: readonly number[] = RATES.map(({ tokenMs }) => tokenMs);

/** Requests of a window: all of them, and those that had succeeded, by their place in it. */
export interface Ordinals {
  readonly all: number[];
  readonly succeeded: number[];
}

/**
 * What every limit would do, from one pass. The windows of `fixedWindow` do not depend on its limit: a limit of n denies the
 * requests from place n + 1 on in each, and a client is denied if the peak of its windows is above n. A bucket that never denies
 * a client has the capacity of that client's largest debt.
 */
export class Peaks {
  readonly peaks: readonly Distribution[] = WINDOWS.map(() => new Distribution());
  readonly capacities: readonly Distribution[] = RATES.map(() => new Distribution());
  readonly ordinals: readonly Ordinals[] = WINDOWS.map(() => ({ all: [], succeeded: [] }));
  /** By window and span of time, requests by level; only for the HTML report. */
  readonly levelsByTime: readonly number[][][];
  readonly #spans: TimeSpans | undefined;
  /** By the numbers of clients. */
  #arrivals: Float64Array = new Float64Array(1024 * SIZE);

  /** @param spans - Given where the curves of the HTML report are wanted. */
  constructor(spans: TimeSpans | undefined) {
    this.#spans = spans;
    this.levelsByTime = spans === undefined ? [] : WINDOWS.map(() => spans.rows());
  }

  add(client: Client, atMs: number, succeeded: boolean): void {
    const at = client.id * SIZE;
    if (at + SIZE > this.#arrivals.length) this.#grow(at + SIZE);
    const arrivals = this.#arrivals;
    for (let w = 0; w < WINDOW_COUNT; w++) {
      let place = 1;
      if (atMs >= (arrivals[at + w] as number)) arrivals[at + w] = atMs + (LENGTHS[w] as number);
      else place = (arrivals[at + COUNTS + w] as number) + 1;
      arrivals[at + COUNTS + w] = place;
      if (place > (arrivals[at + TOPS + w] as number)) arrivals[at + TOPS + w] = place;
      const { all, succeeded: good } = this.ordinals[w] as Ordinals;
      increment(all, place);
      if (succeeded) increment(good, place);
      if (this.#spans !== undefined) this.#addLevel(client, w, place, this.#spans.of(atMs));
    }
    const passedMs = Math.max(atMs - (arrivals[at + LAST] as number), 0);
    if (passedMs > 0) arrivals[at + LAST] = atMs;
    for (let r = 0; r < RATE_COUNT; r++) {
      const left = (arrivals[at + DEBTS + r] as number) - passedMs;
      const debt = (left > 0 ? left : 0) + (TOKENS[r] as number);
      arrivals[at + DEBTS + r] = debt;
      if (debt > (arrivals[at + LARGEST + r] as number)) arrivals[at + LARGEST + r] = debt;
    }
  }

  /** Counts a client whose requests have all been added. */
  fold(client: Client): void {
    const at = client.id * SIZE;
    for (let w = 0; w < WINDOW_COUNT; w++) this.peaks[w]?.add(this.peakOf(client, w));
    for (let r = 0; r < RATE_COUNT; r++) {
      this.capacities[r]?.add(Math.ceil((this.#arrivals[at + LARGEST + r] as number) / (TOKENS[r] as number)));
    }
  }

  /** Forgets a client. */
  forget({ id }: Client): void {
    this.#arrivals.fill(0, id * SIZE, (id + 1) * SIZE);
  }

  /** The peak of a client in a window. */
  peakOf({ id }: Client, window: number): number {
    return this.#arrivals[id * SIZE + TOPS + window] ?? 0;
  }

  #grow(size: number): void {
    const larger = new Float64Array(Math.max(this.#arrivals.length * 2, size));
    larger.set(this.#arrivals);
    this.#arrivals = larger;
  }

  #addLevel(client: Client, w: number, place: number, span: number): void {
    const level = Math.min(levelOf(place), LEVELS.length - 1);
    const levels = ((client.levels ??= WINDOWS.map(() => []))[w] ??= []);
    increment(levels, level);
    const rows = this.levelsByTime[w] as number[][];
    while (rows.length <= span) rows.push([]);
    increment(rows[span] as number[], level);
  }
}

/** Later places of a window are counted as this one. */
const MOST_PLACE = 2 ** 20;

function increment(counts: number[], place: number): void {
  const at = Math.min(place, MOST_PLACE);
  while (counts.length <= at) counts.push(0);
  counts[at] = (counts[at] as number) + 1;
}

/** How many requests a limit denies: those at later places. */
export function deniedBy(ordinals: readonly number[], limit: number): number {
  let denied = 0;
  for (let place = limit + 1; place < ordinals.length; place++) denied += ordinals[place] as number;
  return denied;
}
