import { peakReports, windowSuggestions, type PeakReport, type Suggestion } from '../peaks/suggestions.ts';
import type { Client } from '../clients/client.ts';
import type { Trial } from '../replay/replay.ts';
import type { Tally } from '../replay/tally.ts';
import type { Simulation } from '../simulate.ts';

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
}

/** The result of a candidate on a log. */
export interface CandidateReport {
  readonly policy: string;
  readonly denied: number;
  readonly deniedShare: number;
  /** The denied requests that the server had answered without an error. */
  readonly deniedSucceeded: number;
  readonly clients: number;
  readonly clientsShare: number;
  /** Requests without the key of a limit that has its own, which it did not limit. */
  readonly withoutKey: readonly { readonly key: string; readonly requests: number }[];
  readonly delayed: number;
  readonly meanDelayMs: number;
  readonly longestDelayMs: number;
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
    readonly windows: readonly Suggestion[];
  };
}

/**
 * The report of a replayed log.
 *
 * @param maxClients - The share of the clients that suggested limits may deny.
 */
export function reportOf(simulation: Simulation, key: string, maxClients: number): Report {
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
    candidates: replay.trials.map((trial) => candidateReport(trial, simulation, clients)),
    peaks: peakReports(peaks),
    suggestions: {
      maxClients,
      windows: requests === 0 ? [] : windowSuggestions(peaks, maxClients),
    },
  };
}

function candidateReport({ tally, lane, candidate }: Trial, { replay }: Simulation, clients: number): CandidateReport {
  return {
    policy: candidate.text,
    denied: tally.denied,
    deniedShare: share(tally.denied, replay.requests),
    deniedSucceeded: tally.deniedSucceeded,
    clients: tally.clients,
    clientsShare: share(tally.clients, clients),
    withoutKey: candidate.limits.flatMap(({ key }, place) => {
      const requests = lane.withoutKey[place] ?? 0;
      return requests === 0 ? [] : [{ key: key.text, requests }];
    }),
    delayed: tally.delayed,
    meanDelayMs: tally.delayed === 0 ? 0 : Math.round(tally.delaySumMs / tally.delayed),
    longestDelayMs: tally.longestDelayMs,
    deniedOverTime: filled(tally.byTime, replay.spans.count),
    top: tally.top(replay.clients.holders(), TOLD).map((client) => deniedClient(client, tally)),
  };
}

function deniedClient(client: Client, tally: Tally): DeniedClient {
  const detail = tally.details.get(client);
  return {
    client: client.key,
    requests: client.requests,
    denied: tally.deniedOf(client),
    firstAtMs: detail?.firstAtMs ?? null,
    lastAtMs: detail?.lastAtMs ?? null,
    statuses: mostCommon(detail?.statuses, 5),
    paths: mostCommon(detail?.paths, 5),
    userAgents: mostCommon(detail?.userAgents, 5),
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
