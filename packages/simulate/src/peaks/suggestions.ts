import { countedLimit, deniedBy, type Ordinals, type Peaks } from './peaks.ts';
import type { Distribution } from './distribution.ts';

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
  /** The requests that it denies, and those of them that had succeeded. */
  readonly denied: number;
  readonly deniedSucceeded: number;
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
 * For each window the smallest limit of a fixed window that denies at most this share of the clients, with exactly what
 * it would have denied.
 */
export function windowSuggestions(peaks: Peaks, maxClients: number): readonly Suggestion[] {
  return peaks.windows.map(({ text }, i): Suggestion => {
    const peak = peaks.peaks[i] as Distribution;
    const { all, succeeded } = peaks.ordinals[i] as Ordinals;
    const limit = countedLimit(Math.max(peak.exceededByAtMost(maxClients), 1));
    return {
      policy: `fixedWindow --limit ${String(limit)} --window ${text}`,
      limit,
      clients: peak.above(limit),
      denied: deniedBy(all, limit),
      deniedSucceeded: deniedBy(succeeded, limit),
    };
  });
}
