import { existsSync, readFileSync } from 'node:fs';
import type { Decision } from '../../src/index.ts';

/** The key of the server by whose value in ms its clock is ahead. */
export const AHEAD = 'sluice:ahead';

export interface ChildOptions {
  readonly url: string;
  readonly client: 'url' | 'ioredis' | 'node-redis' | 'cluster' | 'node-redis cluster';
  /** Which of the two numbers of every kind it uses. */
  readonly side: 0 | 1;
  readonly number: number;
  readonly log: string;
  /** The longest pause between two rounds of calls. */
  readonly pauseMs: number;
}

export interface Call {
  readonly op: 'consume' | 'peek' | 'refund' | 'acquire' | 'release';
  readonly limiter: string;
  /** Of a refund or release, the number of the call whose units it gives back. */
  readonly key: string;
  readonly cost: number;
  readonly invokedMs: number;
  /** Infinity if the process was killed before. */
  readonly endedMs: number;
  readonly isLate: boolean;
  /** Whether the store may have executed it without an answer. */
  readonly wasSent: boolean;
  /** The decision, with the policies that denied. Null after a failure, and of a refund or release. */
  readonly told: (Pick<Decision, 'allowed' | 'source' | 'atMs'> & { readonly denied: readonly string[] }) | null;
}

/** A line of a log: when a call is made, and when its end is known. */
export type Line =
  | [n: number, op: Call['op'], limiter: string, key: string, cost: number, invokedMs: number]
  | [n: number, endedMs: number, isLate: boolean, wasSent: boolean, told: Call['told']]
  | { readonly broken: string };

/** The calls of a process, and what it has reported as broken. */
export function readLog(path: string): { readonly calls: readonly Call[]; readonly broken: readonly string[] } {
  const calls: Call[] = [];
  const broken: string[] = [];
  for (const text of existsSync(path) ? readFileSync(path, 'utf8').split('\n') : []) {
    if (!/[\]}]$/.test(text)) continue; // killed while it wrote
    const line = JSON.parse(text) as Line;
    if (!Array.isArray(line)) broken.push(line.broken);
    else if (line.length === 6) {
      const [n, op, limiter, key, cost, invokedMs] = line;
      calls[n] = { op, limiter, key, cost, invokedMs, endedMs: Infinity, isLate: false, wasSent: true, told: null };
    } else {
      const [n, endedMs, isLate, wasSent, told] = line;
      calls[n] = { ...(calls[n] as Call), endedMs, isLate, wasSent, told };
    }
  }
  return { calls, broken };
}
