import type { Client } from './clients.ts';
import type { LogFile } from './log/log-file.ts';
import type { PeakReport, Price, Suggestion } from './peaks.ts';
import type { Replay, Trial } from './replay.ts';

/** How many of the most denied clients are reported. */
const MAX_REPORTED = 20;

/** A log, as it was read. */
export interface LogReport {
  readonly name: string;
  readonly format: string | null;
  readonly lines: number;
  /** The number of lines that are not requests, and the line number of the first. */
  readonly unreadable: number;
  readonly firstUnreadable: number | null;
}

/** One of the clients that a candidate denies most often. */
export interface DeniedClient {
  readonly client: string;
  readonly requests: number;
  readonly denied: number;
  /** The first and last of its requests that any candidate denied, and the path of the last. */
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  readonly lastPath: string;
  /** At most ten. */
  readonly userAgents: readonly string[];
}

/** The result of a candidate on a log. */
export interface CandidateReport {
  readonly policy: string;
  readonly denied: number;
  readonly deniedShare: number;
  /** The denied requests that the server answered without an error. */
  readonly deniedSucceeded: number;
  readonly clients: number;
  readonly clientsShare: number;
  /** For each limit with its own key, the requests without that key, which it did not limit. */
  readonly withoutKey: readonly { readonly key: string; readonly requests: number }[];
  readonly delayed: number;
  readonly meanDelayMs: number;
  readonly maxDelayMs: number;
  readonly top: readonly DeniedClient[];
}

/** The complete result: what `--json` prints. */
export interface Report {
  readonly logs: readonly LogReport[];
  readonly key: string;
  readonly requests: number;
  readonly succeeded: number;
  readonly withoutKey: number;
  readonly late: number;
  readonly fromMs: number | null;
  readonly toMs: number | null;
  readonly wholeSeconds: boolean;
  readonly clients: number;
  /** Clients that were forgotten because of `--max-keys`: one that came back is counted twice. */
  readonly forgotten: number;
  readonly candidates: readonly CandidateReport[];
  readonly peaks: readonly PeakReport[];
  /** The share of the clients that suggested limits may deny. */
  readonly maxClients: number;
  readonly suggestions: readonly Suggestion[];
  /** Sentences about the candidates that deny more clients than `--max-clients` allows. */
  readonly exceeded: readonly string[];
}

/**
 * The report of a replayed log.
 *
 * @param bound - `--max-clients`; undefined if it was not given.
 */
export function makeReport(
  replay: Replay,
  files: readonly LogFile[],
  { key, bound, maxClients }: { readonly key: string; readonly bound: number | undefined; readonly maxClients: number },
): Report {
  const { requests, succeeded, withoutKey, late, clientCount: clients, peaks } = replay;
  const candidates = replay.trials.map((trial, i) => makeCandidateReport(replay, trial, i));
  return {
    logs: files.map(({ name, format, lines, unreadable, firstUnreadable = null }) => {
      return { name, format: format?.name ?? null, lines, unreadable, firstUnreadable };
    }),
    ...{ key, requests, succeeded, withoutKey, late },
    fromMs: requests === 0 ? null : replay.firstAtMs,
    toMs: requests === 0 ? null : replay.lastAtMs,
    wholeSeconds: requests > 0 && replay.isWholeSeconds,
    ...{ clients, forgotten: replay.clients.forgotten, candidates, peaks: peaks.reports(), maxClients },
    suggestions: requests === 0 ? [] : peaks.suggestions(maxClients),
    exceeded: candidates
      .filter(({ clientsShare }) => clientsShare > (bound ?? 1) + 1e-12)
      .map(({ policy, clientsShare }) => {
        return `${policy} denies ${percent(clientsShare)} of the clients, more than ${percent(maxClients)} (--max-clients)`;
      }),
  };
}

function makeCandidateReport(replay: Replay, trial: Trial, i: number): CandidateReport {
  const { candidate, denied, deniedSucceeded, clients, delayed, delaySumMs, maxDelayMs } = trial;
  return {
    ...{ policy: candidate.text, denied, deniedShare: share(denied, replay.requests), deniedSucceeded },
    ...{ clients, clientsShare: share(clients, replay.clientCount) },
    withoutKey: candidate.limits
      .map(({ key }, place) => ({ key: key.text, requests: trial.withoutKey[place] ?? 0 }))
      .filter(({ requests }) => requests > 0),
    ...{ delayed, meanDelayMs: Math.round(share(delaySumMs, delayed)), maxDelayMs },
    top: replay.top(i, MAX_REPORTED).map((client) => makeDeniedClient(client, i)),
  };
}

function makeDeniedClient({ key, requests, denied, sample }: Client, candidate: number): DeniedClient {
  const { firstAtMs = 0, lastAtMs = 0, path: lastPath = '-', agents = [] } = sample ?? {};
  const counts = { client: key, requests, denied: denied?.[candidate] ?? 0 };
  return { ...counts, firstAtMs, lastAtMs, lastPath, userAgents: [...agents] };
}

export function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}

/** A share from 0 to 1 as a percentage, with enough digits to distinguish it from 0. */
export function percent(part: number): string {
  const value = part * 100;
  const digits = value === 0 || value >= 10 ? 1 : value >= 0.1 ? 2 : 4;
  return `${Number(value.toFixed(digits)).toString()}%`;
}

/** The data of the HTML report's slider: for each window, what each limit would have denied. */
export function makeCurves({ peaks, trials }: Replay, { suggestions }: Report): Curves {
  const tried = trials.flatMap(({ candidate }) => candidate.limits.map(({ policy }) => policy));
  const limits = tried.flatMap((policy) => ('limit' in policy ? [policy.limit] : []));
  const levels = peaks.levels([...limits, ...suggestions.map(({ limit }) => limit)]);
  return peaks.windows.map(({ text }, w) => ({ window: text, prices: peaks.prices(w, levels) }));
}

export type Curves = readonly { readonly window: string; readonly prices: readonly Price[] }[];
