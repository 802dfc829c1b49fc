import type { Answer } from './replay.ts';
import { COLUMNS, columnOf, offeredBy, type Traffic } from './traffic.ts';

/** Requests of a column. */
export interface Column {
  readonly allowed: number;
  /** The number of those that had to wait. */
  readonly delayed: number;
  readonly denied: number;
  /** The number of all that came again. */
  readonly retried: number;
}

export interface Totals {
  readonly offered: number;
  /** Those that came again, which are counted as allowed or denied too. */
  readonly retried: number;
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
  /** The most units of one key that started in any interval as long as the window. */
  readonly most: number;
  /** The longest time in which requests of one key came and none was allowed. */
  readonly longestDenialMs: number;
  readonly longestDelayMs: number;
}

/** Requests by column, of one client or of all. */
export function columnsOf(answers: readonly Answer[], spanMs: number, client?: number): readonly Column[] {
  const columns = Array.from({ length: COLUMNS }, () => ({ allowed: 0, delayed: 0, denied: 0, retried: 0 }));
  for (const answer of answers) {
    if (client !== undefined && answer.client !== client) continue;
    const column = columns[columnOf(answer.atMs, spanMs)];
    if (column === undefined) continue;
    if (!answer.decision.allowed) column.denied++;
    else column.allowed++;
    if (answer.decision.delayMs > 0) column.delayed++;
    if (answer.retry > 0) column.retried++;
  }
  return columns;
}

/** The clients with most requests, so many at most, in the order of their indices unless some are left out. */
export function busiestClients(traffic: Traffic, most: number): readonly number[] {
  const counts = traffic.clients.map((_, client) => ({ client, requests: 0 }));
  if (counts.length <= most) return counts.map(({ client }) => client);
  for (const { client } of offeredBy(traffic)) (counts[client] as { requests: number }).requests++;
  return counts
    .sort((a, b) => b.requests - a.requests || a.client - b.client)
    .slice(0, most)
    .map(({ client }) => client);
}

/** @param shared - Whether all clients share one key. */
export function totalsOf(answers: readonly Answer[], windowMs: number, shared = false): Totals {
  const allowed = answers.filter(({ decision }) => decision.allowed);
  const keys = shared ? [answers] : byClient(answers);
  const retried = answers.filter(({ retry }) => retry > 0).length;
  return {
    offered: answers.length - retried,
    retried,
    allowed: allowed.length,
    delayed: allowed.filter(({ decision }) => decision.delayMs > 0).length,
    denied: answers.length - allowed.length,
    most: largest(keys.map((own) => mostIn(own, windowMs))),
    longestDenialMs: largest(keys.map(longestDenialMs)),
    longestDelayMs: largest(allowed.map(({ decision }) => decision.delayMs)),
  };
}

function byClient(answers: readonly Answer[]): readonly (readonly Answer[])[] {
  const lists: Answer[][] = [];
  for (const answer of answers) (lists[answer.client] ??= []).push(answer);
  return lists.filter(Array.isArray); // a client may have no requests
}

function largest(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), 0);
}

/** Half-open intervals: a unit at their end is not in them. */
function mostIn(answers: readonly Answer[], windowMs: number): number {
  const allowed = answers.filter(({ decision }) => decision.allowed);
  const starts = allowed.map(({ startMs, cost }) => ({ startMs, cost })).sort((a, b) => a.startMs - b.startMs);
  let [first, units, most] = [0, 0, 0];
  for (const { startMs, cost } of starts) {
    units += cost;
    for (; (starts[first]?.startMs ?? Infinity) <= startMs - windowMs; first++) units -= starts[first]?.cost ?? 0;
    most = Math.max(most, units);
  }
  return most;
}

function longestDenialMs(answers: readonly Answer[]): number {
  let longest = 0;
  let since: number | undefined;
  for (const { atMs, decision } of answers) {
    since = decision.allowed ? undefined : (since ?? atMs);
    if (since !== undefined) longest = Math.max(longest, atMs - since);
  }
  return longest;
}
