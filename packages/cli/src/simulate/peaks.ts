import { writeDuration } from '@sluice/core/spi';
import type { Candidate } from './candidate.ts';
import type { Client } from './clients.ts';
import type { KeySpec } from './key.ts';

/** The peaks of a log's clients: their most requests in any window. */
export interface PeakReport {
  readonly window: string;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** What a fixed window's limit would have denied. */
export interface Price {
  readonly limit: number;
  /** The clients that it denies at least once. */
  readonly clients: number;
  /** The requests that it denies, and those of them that had succeeded. */
  readonly denied: number;
  readonly deniedSucceeded: number;
}

/** The smallest limit within an accepted loss, as `--policy` accepts it. */
export type Suggestion = Price & { readonly policy: string };

const USUAL_MS = [1000, 60_000, 3_600_000];
/** How many further windows: each takes time for every request. */
const MAX_OWN = 5;
/** Levels of the slider: every limit up to this, then steps of a tenth. */
const EACH = 64;

/**
 * What every limit would do, from a single pass. The windows of `fixedWindow` do not depend on its limit: a limit of n
 * denies requests n + 1 and later in each window, and denies a client if the peak of its windows is above n.
 */
export class Peaks {
  readonly windows: readonly { readonly text: string; readonly ms: number }[];
  /** For each window, how many clients have each peak. */
  readonly #peaks: readonly Map<number, number>[];
  /** For each window, requests by their place in it, and those that succeeded. */
  readonly #places: readonly { readonly all: number[]; readonly succeeded: number[] }[];

  /** @param clients - The windows of candidates that count by this key are included. */
  constructor(candidates: readonly Candidate[], clients: KeySpec) {
    const limits = candidates.flatMap((candidate) => candidate.limits).filter(({ key }) => key.text === clients.text);
    const own = limits.flatMap(({ policy }) => ('windowMs' in policy ? [policy.windowMs] : []));
    const further = [...new Set(own)].filter((ms) => !USUAL_MS.includes(ms)).slice(0, MAX_OWN);
    const all = [...USUAL_MS, ...further].sort((one, other) => one - other);
    this.windows = all.map((ms) => ({ text: writeDuration(ms), ms }));
    this.#peaks = all.map(() => new Map<number, number>());
    this.#places = all.map(() => ({ all: [], succeeded: [] }));
  }

  add({ windows }: Client, atMs: number, succeeded: boolean): void {
    for (let w = 0; w < this.windows.length; w++) {
      const at = 3 * w;
      let place = 1;
      if (atMs < (windows[at] ?? 0)) place = (windows[at + 1] as number) + 1;
      else windows[at] = atMs + (this.windows[w] as { readonly ms: number }).ms;
      windows[at + 1] = place;
      windows[at + 2] = Math.max(windows[at + 2] ?? 0, place);
      const { all, succeeded: good } = this.#places[w] as { readonly all: number[]; readonly succeeded: number[] };
      increment(all, place);
      if (succeeded) increment(good, place);
    }
  }

  /** Counts a client whose requests have all been added. */
  fold(client: Client): void {
    for (const [w, peaks] of this.#peaks.entries()) {
      const peak = this.peakOf(client, w);
      peaks.set(peak, (peaks.get(peak) ?? 0) + 1);
    }
  }

  peakOf({ windows }: Client, w: number): number {
    return windows[3 * w + 2] ?? 0;
  }

  reports(): readonly PeakReport[] {
    return this.windows.map(({ text }, w) => {
      const [p50, p90, p99, p999, max] = [0.5, 0.1, 0.01, 0.001, 0].map((share) => this.#exceededBy(w, share));
      return { window: text, p50, p90, p99, p999, max } as PeakReport;
    });
  }

  /** For each window, the smallest limit that denies at most this share of the clients. */
  suggestions(maxClients: number): readonly Suggestion[] {
    return this.windows.map(({ text }, w): Suggestion => {
      const limit = Math.max(this.#exceededBy(w, maxClients), 1);
      const policy = `fixedWindow --limit ${String(limit)} --window ${text}`;
      return { policy, ...(this.prices(w, [limit])[0] as Price) };
    });
  }

  /** Exactly what these limits of a window would have denied. */
  prices(w: number, limits: readonly number[]): readonly Price[] {
    const { all, succeeded } = this.#places[w] as { readonly all: number[]; readonly succeeded: number[] };
    const peaks = [...(this.#peaks[w] as Map<number, number>)];
    return limits.map((limit) => ({
      limit,
      clients: peaks.reduce((sum, [peak, count]) => (peak > limit ? sum + count : sum), 0),
      denied: sumAfter(all, limit),
      deniedSucceeded: sumAfter(succeeded, limit),
    }));
  }

  /** The limits of a slider: close together at first, up to one that denies nothing. */
  levels(further: readonly number[]): readonly number[] {
    const max = Math.max(...this.#peaks.map((_, w) => this.#exceededBy(w, 0)), 1);
    const found = new Set([...further.filter((limit) => limit >= 1 && limit < max), max]);
    for (let limit = 1; limit < max; limit = limit < EACH ? limit + 1 : Math.ceil(limit * 1.1)) found.add(limit);
    return [...found].sort((one, other) => one - other);
  }

  /** The smallest peak that at most this share of the clients exceeds: one that occurred, or 0. */
  #exceededBy(w: number, share: number): number {
    const peaks = [...(this.#peaks[w] as Map<number, number>)].sort(([one], [other]) => other - one);
    const max = Math.floor(peaks.reduce((sum, [, count]) => sum + count, 0) * share + 1e-9);
    let above = 0;
    return peaks.find(([, count]) => (above += count) > max)?.[0] ?? 0;
  }
}

function increment(counts: number[], place: number): void {
  while (counts.length <= place) counts.push(0);
  counts[place] = (counts[place] as number) + 1;
}

function sumAfter(counts: readonly number[], place: number): number {
  let sum = 0;
  for (let i = place + 1; i < counts.length; i++) sum += counts[i] as number;
  return sum;
}
