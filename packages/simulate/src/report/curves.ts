import { deniedBy, type Peaks } from '../peaks/peaks.ts';
import type { Client } from '../clients/client.ts';
import type { Simulation } from '../simulate.ts';

/** Clients in the table of the HTML report: those denied most, and those with the highest peaks. */
const LISTED = 300;

/** The result of every limit of a fixed window, for the slider. All lists are by level. */
export interface WindowCurves {
  readonly window: string;
  readonly denied: readonly number[];
  readonly deniedSucceeded: readonly number[];
  readonly clients: readonly number[];
  /** By span of time: the requests denied by each level. */
  readonly overTime: readonly (readonly number[])[];
}

/** A client of the table. */
export interface ListedClient {
  readonly client: string;
  readonly requests: number;
  /** By window. */
  readonly peaks: readonly number[];
  /** By window, the requests denied by each level, up to the first that denies none. */
  readonly denied: readonly (readonly number[])[];
  /** By candidate. */
  readonly byCandidate: readonly number[];
}

export interface Curves {
  readonly levels: readonly number[];
  readonly windows: readonly WindowCurves[];
  readonly clients: readonly ListedClient[];
  readonly clientCount: number;
}

export function curvesOf({ replay }: Simulation): Curves {
  const { peaks, spans, trials, levels: axis } = replay;
  const most = Math.max(...peaks.peaks.map((peak) => peak.exceededByAtMost(0)), 1);
  // One level above the highest peak denies nothing.
  const levels = axis.limits.slice(0, axis.of(most) + 1);
  const windows = peaks.windows.map(({ text }, w): WindowCurves => {
    const ordinals = peaks.ordinals[w] ?? { all: [], succeeded: [] };
    return {
      window: text,
      denied: levels.map((level) => deniedBy(ordinals.all, level)),
      deniedSucceeded: levels.map((level) => deniedBy(ordinals.succeeded, level)),
      clients: levels.map((level) => peaks.peaks[w]?.above(level) ?? 0),
      overTime: Array.from({ length: spans.count }, (_, span) => above(peaks.levelsByTime[w]?.[span] ?? [])),
    };
  });
  const listed = new Set<Client>();
  for (const { tally } of trials) for (const client of tally.top(replay.clients.holders(), LISTED)) listed.add(client);
  for (const client of highest(replay.clients.holders(), peaks)) listed.add(client);
  return {
    ...{ levels, windows, clientCount: peaks.peaks[0]?.total ?? 0 },
    clients: [...listed].map((client) => ({
      client: client.key,
      requests: client.requests,
      peaks: peaks.windows.map((_, w) => peaks.peakOf(client, w)),
      denied: peaks.windows.map((_, w) => above(client.levels?.[w] ?? [])),
      byCandidate: trials.map(({ tally }) => tally.deniedOf(client)),
    })),
  };
}

/** From requests by the level of their place, the requests that each level denies; zeros at the end are left out. */
function above(counts: readonly number[]): readonly number[] {
  const denied: number[] = [];
  let sum = 0;
  for (let level = counts.length - 1; level > 0; level--) {
    sum += counts[level] as number;
    denied[level - 1] = sum;
  }
  return denied;
}

/** The clients with the highest peaks in any window. */
function highest(clients: Iterable<Client>, peaks: Peaks): readonly Client[] {
  const all = [...clients];
  return peaks.windows.flatMap((_, w) =>
    all
      .toSorted((one, other) => peaks.peakOf(other, w) - peaks.peakOf(one, w))
      .slice(0, Math.ceil(LISTED / peaks.windows.length)),
  );
}
