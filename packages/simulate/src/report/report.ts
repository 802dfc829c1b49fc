import {
  frontier,
  peakReports,
  windowSuggestions,
  type FrontierPoint,
  type Loss,
  type PeakReport,
  type Suggestion,
} from '../peaks/suggestions.ts';
import type { Client } from '../clients/client.ts';
import type { Trial } from '../replay/replay.ts';
import type { RetryOutcome } from '../replay/retries.ts';
import type { Simulation } from '../simulate.ts';
import { sharedBy, type SharedAddress } from './shared-address.ts';

/** How many clients that were denied most are told of. */
const TOLD = 20;

/** A text or status, and how often it occurred. */
export type Counted<T> = readonly [value: T, count: number];

/** One of the clients that a candidate denies most. */
export interface DeniedClient {
  readonly client: string;
  readonly requests: number;
  readonly denied: number;
  readonly firstAtMs: number | null;
  readonly lastAtMs: number | null;
  readonly statuses: readonly Counted<number>[];
  readonly paths: readonly Counted<string>[];
  readonly userAgents: readonly Counted<string>[];
  /** Set where many user agents share the address: a limit by it may deny many people. */
  readonly shared: SharedAddress | null;
}

/** Denials under a placement of requests within their seconds. */
export interface PlacedDenials {
  readonly denied: number;
  readonly clients: number;
}

/** The result of a candidate on a log. */
export interface CandidateReport {
  readonly policy: string;
  readonly denied: number;
  readonly deniedShare: number;
  /** The denied requests during a block by `--escalate`. */
  readonly blocked: number;
  /** The denied requests that the server had answered without an error. */
  readonly deniedSucceeded: number;
  readonly clients: number;
  readonly clientsShare: number;
  /** Requests without the key of a limit that has its own, which it did not limit. */
  readonly withoutKey: readonly { readonly key: string; readonly requests: number }[];
  readonly delayed: number;
  readonly meanDelayMs: number;
  readonly longestDelayMs: number;
  /** Where all stamps are whole seconds: the fewest and the most denials of three placements that were tried. */
  readonly best: PlacedDenials | null;
  readonly worst: PlacedDenials | null;
  readonly retry: RetryOutcome | null;
  readonly deniedOverTime: readonly number[];
  readonly top: readonly DeniedClient[];
}

/** The whole result: what `--json` prints. */
export interface Report {
  readonly logs: readonly {
    readonly name: string;
    readonly format: string | null;
    readonly lines: number;
    readonly unreadable: number;
    readonly firstUnreadable: number | null;
    /** Lines with a stamp far ahead of the others, and the number of the first of them. */
    readonly stray: number;
    readonly firstStray: number | null;
  }[];
  readonly key: string;
  readonly lines: number;
  readonly requests: number;
  readonly succeeded: number;
  readonly withoutKey: number;
  readonly late: number;
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly wholeSeconds: boolean;
  readonly clients: number;
  /** Clients and other keys that were forgotten because of `--max-keys`; `live`: while they still counted. */
  readonly dropped: { readonly keys: number; readonly live: number };
  readonly overTime: { readonly startMs: number; readonly widthMs: number; readonly offered: readonly number[] };
  readonly candidates: readonly CandidateReport[];
  readonly peaks: readonly PeakReport[];
  readonly suggestions: {
    readonly maxClients: number;
    readonly maxDenied: number | null;
    readonly windows: readonly Suggestion[];
    readonly buckets: readonly FrontierPoint[];
  };
}

/** The report of a replayed log. */
export function reportOf(simulation: Simulation, key: string, loss: Loss): Report {
  const { replay, files } = simulation;
  const { peaks, requests, spans } = replay;
  const clients = peaks.peaks[0]?.total ?? 0;
  return {
    logs: files.map(({ source, format, lines, unreadable, firstUnreadable, strays }) => ({
      ...{ name: source.name, format: format?.name ?? null, lines, unreadable },
      ...{ firstUnreadable: firstUnreadable ?? null, stray: strays.found, firstStray: strays.firstLine ?? null },
    })),
    key,
    lines: files.reduce((sum, { lines }) => sum + lines, 0),
    requests,
    succeeded: replay.succeeded,
    withoutKey: replay.withoutKey,
    late: simulation.late,
    fromMs: requests === 0 ? null : replay.firstAtMs,
    toMs: requests === 0 ? null : replay.lastAtMs,
    wholeSeconds: simulation.isCoarse,
    clients,
    dropped: replay.dropped,
    overTime: { startMs: spans.startMs, widthMs: spans.widthMs, offered: filled(replay.offered, spans.count) },
    candidates: replay.trials.map((trial) => candidateReport(trial, simulation, clients, hasAddress(key))),
    peaks: peakReports(peaks),
    suggestions: {
      maxClients: loss.clients,
      maxDenied: loss.denied ?? null,
      windows: windowSuggestions(peaks, loss, requests),
      buckets: frontier(peaks, loss),
    },
  };
}

/** Whether a part of a key is the address: only an address is shared by people who do not know of each other. */
function hasAddress(key: string): boolean {
  return key.split(',').some((part) => /^ip(?:\/|$)/.test(part));
}

function candidateReport(
  trial: Trial,
  { replay, isCoarse }: Simulation,
  clients: number,
  isByAddress: boolean,
): CandidateReport {
  const { tally, stamped, placements, retries, candidate } = trial;
  const placed: readonly PlacedDenials[] = [tally, ...placements];
  const extreme = (of: (...values: number[]) => number): PlacedDenials | null =>
    isCoarse
      ? { denied: of(...placed.map(({ denied }) => denied)), clients: of(...placed.map((one) => one.clients)) }
      : null;
  return {
    policy: candidate.text,
    denied: tally.denied,
    deniedShare: share(tally.denied, replay.requests),
    blocked: tally.blocked,
    deniedSucceeded: tally.deniedSucceeded,
    clients: tally.clients,
    clientsShare: share(tally.clients, clients),
    withoutKey: candidate.limits.flatMap(({ key }, place) => {
      const requests = stamped.withoutKey[place] ?? 0;
      return requests === 0 ? [] : [{ key: key.text, requests }];
    }),
    delayed: tally.delayed,
    meanDelayMs: tally.delayed === 0 ? 0 : Math.round(tally.delaySumMs / tally.delayed),
    longestDelayMs: tally.longestDelayMs,
    best: extreme(Math.min),
    worst: extreme(Math.max),
    retry: retries?.outcome() ?? null,
    deniedOverTime: filled(tally.byTime, replay.spans.count),
    top: tally
      .top(replay.clients.holders(), TOLD)
      .map((client) => deniedClient(client, stamped.id, trial, isByAddress)),
  };
}

function deniedClient(client: Client, lane: number, { tally }: Trial, isByAddress: boolean): DeniedClient {
  const detail = tally.details.get(client);
  return {
    client: client.key,
    requests: client.requests,
    denied: client.denied?.[lane] ?? 0,
    firstAtMs: detail?.firstAtMs ?? null,
    lastAtMs: detail?.lastAtMs ?? null,
    statuses: mostCommon(detail?.statuses, 5),
    paths: mostCommon(detail?.paths, 5),
    userAgents: mostCommon(detail?.userAgents, 5),
    shared: detail === undefined || !isByAddress ? null : sharedBy(detail),
  };
}

function mostCommon<T>(counts: ReadonlyMap<T, number> | undefined, most: number): readonly Counted<T>[] {
  return [...(counts ?? [])].sort(([, one], [, other]) => other - one).slice(0, most);
}

export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** A series with a number for each span. */
function filled(series: readonly number[], count: number): readonly number[] {
  return Array.from({ length: count }, (_, i) => series[i] ?? 0);
}
