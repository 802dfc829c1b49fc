import type { Client } from '../clients/client.ts';
import type { TimeSpans } from '../clients/time-series.ts';
import { Distribution } from './distribution.ts';
import type { Levels } from './levels.ts';
import type { PeakWindow } from './windows.ts';

/** Requests of a window: all of them, and those that had succeeded, by their place in it. */
export interface Ordinals {
  readonly all: number[];
  readonly succeeded: number[];
}

/** The axes of the curves. */
export interface CurveAxes {
  readonly levels: Levels;
  readonly spans: TimeSpans;
}

/**
 * The result of every limit, from one pass. The windows of `fixedWindow` do not depend on its limit: a limit of n
 * denies the requests from place n + 1 on in each, and a client is denied if the peak of its windows is above n.
 */
export class Peaks {
  readonly windows: readonly PeakWindow[];
  readonly peaks: readonly Distribution[];
  readonly ordinals: readonly Ordinals[];
  /** By window and span of time, requests by level; only for the HTML report. */
  readonly levelsByTime: readonly number[][][];
  readonly #curves: CurveAxes | undefined;
  readonly #lengths: readonly number[];
  readonly #size: number;
  /** By the numbers of clients: ends, counts and peaks of the windows. */
  #arrivals: Float64Array;

  /** @param curves - Given where the curves of the HTML report are wanted. */
  constructor(windows: readonly PeakWindow[], curves: CurveAxes | undefined) {
    this.windows = windows;
    this.peaks = windows.map(() => new Distribution());
    this.ordinals = windows.map(() => ({ all: [], succeeded: [] }));
    this.#lengths = windows.map(({ ms }) => ms);
    this.#size = 3 * windows.length;
    this.#arrivals = new Float64Array(1024 * this.#size);
    this.#curves = curves;
    this.levelsByTime = curves === undefined ? [] : windows.map(() => curves.spans.rows());
  }

  add(client: Client, atMs: number, succeeded: boolean): void {
    const at = client.id * this.#size;
    if (at + this.#size > this.#arrivals.length) this.#grow(at + this.#size);
    const arrivals = this.#arrivals;
    const lengths = this.#lengths;
    const count = lengths.length;
    for (let w = 0, end = at; w < count; w++, end++) {
      let place = 1;
      if (atMs >= (arrivals[end] as number)) arrivals[end] = atMs + (lengths[w] as number);
      else place = (arrivals[end + count] as number) + 1;
      arrivals[end + count] = place;
      if (place > (arrivals[end + 2 * count] as number)) arrivals[end + 2 * count] = place;
      const { all, succeeded: good } = this.ordinals[w] as Ordinals;
      increment(all, place);
      if (succeeded) increment(good, place);
      if (this.#curves !== undefined)
        this.#addLevel(client, w, this.#curves.levels.of(place), this.#curves.spans.of(atMs));
    }
  }

  /** Counts a client whose requests have all been added. */
  fold(client: Client): void {
    for (const [w, peak] of this.peaks.entries()) peak.add(this.peakOf(client, w));
  }

  /** Forgets a client. */
  forget({ id }: Client): void {
    this.#arrivals.fill(0, id * this.#size, (id + 1) * this.#size);
  }

  /** The peak of a client in a window. */
  peakOf({ id }: Client, window: number): number {
    return this.#arrivals[id * this.#size + 2 * this.windows.length + window] ?? 0;
  }

  #grow(size: number): void {
    const larger = new Float64Array(Math.max(this.#arrivals.length * 2, size));
    larger.set(this.#arrivals);
    this.#arrivals = larger;
  }

  #addLevel(client: Client, w: number, level: number, span: number): void {
    const levels = ((client.levels ??= this.windows.map(() => []))[w] ??= []);
    increment(levels, level);
    const rows = this.levelsByTime[w] as number[][];
    while (rows.length <= span) rows.push([]);
    increment(rows[span] as number[], level);
  }
}

/** Up to here each place of a window is counted for itself; later ones by this many, and as the last of them. */
const EACH_PLACE = 2 ** 20;
const PLACES_TOGETHER = 1024;

function increment(counts: number[], place: number): void {
  const at = indexOf(place);
  while (counts.length <= at) counts.push(0);
  counts[at] = (counts[at] as number) + 1;
}

function indexOf(place: number): number {
  return place <= EACH_PLACE ? place : EACH_PLACE + Math.ceil((place - EACH_PLACE) / PLACES_TOGETHER);
}

/** The smallest limit, from this one on, of which it is known exactly what it denies. */
export function countedLimit(limit: number): number {
  return placeAt(indexOf(limit));
}

/** The last place that is counted at an index. */
export function placeAt(index: number): number {
  return index <= EACH_PLACE ? index : EACH_PLACE + (index - EACH_PLACE) * PLACES_TOGETHER;
}

/** How many requests a limit denies, which is a {@link countedLimit}: those at later places. */
export function deniedBy(ordinals: readonly number[], limit: number): number {
  let denied = 0;
  for (let at = indexOf(limit) + 1; at < ordinals.length; at++) denied += ordinals[at] as number;
  return denied;
}
