import { countedLimit, deniedBy, placeAt, RATES, type Ordinals, type Peaks } from './peaks.ts';
import type { Distribution } from './distribution.ts';

/** The loss that a limit may cause, each as a share from 0 to 1. */
export interface Loss {
  readonly clients: number;
  /** The share of all requests; undefined where only clients count. */
  readonly denied: number | undefined;
}

/** The most requests of the clients of a log in a window. */
export interface PeakReport {
  readonly window: string;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly p999: number;
  readonly max: number;
}

/** The smallest limit that keeps to the loss. */
export interface Suggestion {
  /** As `--policy` takes it. */
  readonly policy: string;
  readonly limit: number;
  /** The clients that it denies at least once. */
  readonly clients: number;
  /**
   * The requests that it denies, and those of them that had succeeded; null for a bucket, which takes a run of its own.
   */
  readonly denied: number | null;
  readonly deniedSucceeded: number | null;
}

/** For one rate of a bucket, how much it must hold: for the stated loss, and to deny no client. */
export interface FrontierPoint {
  readonly refill: number;
  readonly every: string;
  readonly p50: number;
  readonly p99: number;
  /** For the stated loss. */
  readonly capacity: number;
  readonly clients: number;
  readonly max: number;
}

export function peakReports({ windows, peaks }: Peaks): readonly PeakReport[] {
  return windows.map(({ text }, i) => {
    const peak = peaks[i] as Distribution;
    return {
      window: text,
      p50: peak.exceededByAtMost(0.5),
      p90: peak.exceededByAtMost(0.1),
      p99: peak.exceededByAtMost(0.01),
      p999: peak.exceededByAtMost(0.001),
      max: peak.exceededByAtMost(0),
    };
  });
}

/**
 * For each window the smallest limit of a fixed window that keeps to the loss, with exactly what it would have denied.
 */
export function windowSuggestions(peaks: Peaks, loss: Loss, requests: number): readonly Suggestion[] {
  if (requests === 0) return [];
  return peaks.windows.map(({ text }, i): Suggestion => {
    const peak = peaks.peaks[i] as Distribution;
    const { all, succeeded } = peaks.ordinals[i] as Ordinals;
    const byClients = Math.max(peak.exceededByAtMost(loss.clients), 1);
    const limit = countedLimit(
      loss.denied === undefined ? byClients : Math.max(byClients, limitFor(all, loss.denied * requests)),
    );
    return {
      policy: `fixedWindow --limit ${String(limit)} --window ${text}`,
      limit,
      clients: peak.above(limit),
      denied: deniedBy(all, limit),
      deniedSucceeded: deniedBy(succeeded, limit),
    };
  });
}

/** The smallest limit that denies no more than so many requests. */
function limitFor(all: readonly number[], most: number): number {
  let denied = 0;
  for (let at = all.length - 1; at > 1; at--) {
    denied += all[at] as number;
    if (denied > most + 1e-9) return placeAt(at);
  }
  return 1;
}

/** For each rate the smallest burst that keeps to the loss. Slower rates without an end of their debts are left out. */
export function frontier({ capacities }: Peaks, loss: Loss): readonly FrontierPoint[] {
  const points = RATES.map(({ refill, every }, i): FrontierPoint => {
    const capacity = capacities[i] as Distribution;
    const found = Math.max(capacity.exceededByAtMost(loss.clients), 1);
    return {
      ...{ refill, every, capacity: found, clients: capacity.above(found) },
      ...{
        p50: capacity.exceededByAtMost(0.5),
        p99: capacity.exceededByAtMost(0.01),
        max: capacity.exceededByAtMost(0),
      },
    };
  });
  // A faster rate with the same burst allows more than the loss needs.
  const last = points.findIndex(({ capacity }) => capacity === points.at(-1)?.capacity);
  return points.slice(0, last + 1);
}
