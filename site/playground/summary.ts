import type { Answer } from './replay.ts';
import { COLUMNS, listRequests, type Traffic } from './traffic.ts';

/** Requests of a column. */
export interface Column {
  readonly allowed: number;
  /** How many had to wait. */
  readonly delayed: number;
  readonly denied: number;
  /** How many were retries. */
  readonly retried: number;
}

export interface Totals {
  readonly offered: number;
  /** Retries, which are also counted as allowed or denied. */
  readonly retried: number;
  readonly allowed: number;
  readonly delayed: number;
  readonly denied: number;
  /** The most units of one key that started within any interval of the window's length. */
  readonly max: number;
  /** The longest time during which requests of one key arrived and none was allowed. */
  readonly longestDenialMs: number;
}

/** The requests of a client by column. */
export function countColumns(answers: readonly Answer[], spanMs: number, client: number): readonly Column[] {
  const columns = Array.from({ length: COLUMNS }, () => ({ allowed: 0, delayed: 0, denied: 0, retried: 0 }));
  for (const answer of answers) {
    const column = columns[Math.floor((answer.atMs / spanMs) * COLUMNS)];
    if (answer.client !== client || column === undefined) continue;
    if (!answer.decision.allowed) column.denied++;
    else column.allowed++;
    if (answer.decision.delayMs > 0) column.delayed++;
    if (answer.retry > 0) column.retried++;
  }
  return columns;
}

/** The clients with the most requests, up to this many, in the order of their indices unless some are left out. */
export function findBusiestClients(traffic: Traffic, max: number): readonly number[] {
  const counts = traffic.clients.map(() => 0);
  const clients = [...counts.keys()];
  if (clients.length <= max) return clients;
  for (const { client } of listRequests(traffic)) counts[client] = (counts[client] ?? 0) + 1;
  return clients.sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0)).slice(0, max);
}

/** @param isShared - Whether all clients share one key. */
export function countTotals(answers: readonly Answer[], windowMs: number, isShared = false): Totals {
  const byKey = new Map<number, Answer[]>();
  for (const answer of answers) {
    const key = isShared ? 0 : answer.client;
    const own = byKey.get(key);
    if (own === undefined) byKey.set(key, [answer]);
    else own.push(answer);
  }
  const keys = [...byKey.values()];
  const count = (is: (answer: Answer) => boolean): number => answers.filter(is).length;
  const retried = count(({ retry }) => retry > 0);
  return {
    offered: answers.length - retried,
    retried,
    allowed: count(({ decision }) => decision.allowed),
    delayed: count(({ decision }) => decision.delayMs > 0),
    denied: count(({ decision }) => !decision.allowed),
    max: Math.max(0, ...keys.map((own) => findMax(own, windowMs))),
    longestDenialMs: Math.max(0, ...keys.map(findLongestDenial)),
  };
}

/** Intervals are half-open: a unit at the end is not included. */
function findMax(answers: readonly Answer[], windowMs: number): number {
  const starts = answers.filter(({ decision }) => decision.allowed).sort((a, b) => a.startMs - b.startMs);
  let [first, units, max] = [0, 0, 0];
  for (const { startMs, cost } of starts) {
    units += cost;
    for (; (starts[first]?.startMs ?? Infinity) <= startMs - windowMs; first++) units -= starts[first]?.cost ?? 0;
    max = Math.max(max, units);
  }
  return max;
}

function findLongestDenial(answers: readonly Answer[]): number {
  let longest = 0;
  let since: number | undefined;
  for (const { atMs, decision } of answers) {
    since = decision.allowed ? undefined : (since ?? atMs);
    if (since !== undefined) longest = Math.max(longest, atMs - since);
  }
  return longest;
}
