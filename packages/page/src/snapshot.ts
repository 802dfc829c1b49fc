import { hostname } from 'node:os';
import { describePolicy } from '@sluice/core';
import type { Limit, LimiterCore } from '@sluice/core/spi';
import { mergeChanges, type PageChange } from './changes.ts';
import { findKey, showKey, writeId, type FindLimits } from './key-names.ts';
import { limitId, listCores } from './limits.ts';
import { MINUTES, type Recorder } from './recorder.ts';
import { MAX_SHARED_KEYS, type PageRecord, type SharedKey } from './shared/record.ts';
import { mergeDenied, mergeLost } from './shared/redis.ts';
import type { Sharing } from './shared/sharing.ts';

/** All that the page shows without a question. */
export interface Snapshot {
  readonly atMs: number;
  readonly process: { readonly pid: number; readonly host: string; readonly sinceMs: number };
  /** The name by which the operator is known; null: the operator has to give one. */
  readonly operator: string | null;
  readonly limiters: readonly ShownLimiter[];
  readonly denied: ShownKeys;
  /** The managed policies that their source has lost, and the processes that still have them, as far as they share that. */
  readonly lost: readonly { readonly name: string; readonly processes: readonly ShownProcess[] }[];
  /** The last one first. */
  readonly changes: readonly PageChange[];
}

export interface ShownProcess {
  readonly pid: number;
  readonly host: string;
}

export interface ShownLimiter {
  readonly name: string;
  readonly store: string;
  readonly breaker: string;
  readonly keysInMemory: number;
  readonly policies: readonly ShownCounts[];
}

/** One policy: its numbers, and its decisions in the last hour. */
export interface ShownCounts {
  readonly name: string;
  /** Null if a function returns it for each key, or it is not loaded yet. */
  readonly text: string | null;
  readonly allowed: number;
  readonly denied: number;
  /** The last minute last. */
  readonly deniedByMinute: readonly number[];
}

/** The keys that were denied most, by this process and those that share their counts. */
export interface ShownKeys {
  readonly sinceMs: number;
  readonly keys: readonly ShownKey[];
  /** The other processes; null if this page shares nothing. `ageMs`: how old their counts are. */
  readonly others: readonly { readonly pid: number; readonly host: string; readonly ageMs: number }[] | null;
  /** Since when Redis has not taken or given counts; null: it does both. */
  readonly awaySinceMs: number | null;
}

/** `id`: null if only another process knows its limit. */
export type ShownKey = Omit<SharedKey, 'limit'> & { readonly id: string | null };

/** What snapshots are taken of. */
export interface Shown {
  readonly recorder: Recorder;
  readonly find: FindLimits;
  readonly only: ReadonlySet<LimiterCore> | undefined;
  readonly sharing: Sharing | undefined;
  readonly changes: readonly PageChange[];
}

export function takeSnapshot(shown: Shown, operator: string | undefined): Snapshot {
  const { recorder, sharing, changes } = shown;
  return {
    atMs: Date.now(),
    process: { pid: process.pid, host: hostname(), sinceMs: recorder.startedAtMs },
    operator: operator ?? null,
    limiters: showLimiters(shown),
    denied: showDenied(shown),
    lost: mergeLost(readRecords(shown)).map(({ name, processes }) => {
      return { name, processes: processes.map(({ pid, host }) => ({ pid, host })) };
    }),
    changes: mergeChanges(changes, sharing?.shared.changes ?? []),
  };
}

/** What a page counts and shares now. */
export function makeRecord({ denied }: Recorder, only: Shown['only']): PageRecord {
  const all = denied.ranked();
  const keys = all.slice(0, MAX_SHARED_KEYS).map(({ item, count, atLeast }) => {
    const { core, limit, policy, subject } = item;
    return { limiter: core.name, limit: limitId(core, limit), policy, key: subject, count, atLeast };
  });
  const beyond = all.slice(MAX_SHARED_KEYS).reduce((max, { count }) => Math.max(max, count), denied.missed);
  const lost = [...new Set(listCores(only).flatMap((core) => core.status().lostPolicies))].slice(0, MAX_SHARED_KEYS);
  return { pid: process.pid, host: hostname(), sinceMs: denied.sinceMs, beyond, keys, lost };
}

/** The record of this process as it is now, and those of others. */
function readRecords({ recorder, only, sharing }: Shown): readonly (PageRecord & { readonly ageMs: number })[] {
  const own = { ...makeRecord(recorder, only), ageMs: 0 };
  const all = sharing?.shared.records ?? [];
  return [own, ...all.filter(({ pid, host }) => pid !== own.pid || host !== own.host)];
}

function showDenied(shown: Shown): ShownKeys {
  const { recorder, find, sharing } = shown;
  const records = readRecords(shown);
  const others = records.slice(1);
  const denied = mergeDenied(records).slice(0, MAX_SHARED_KEYS);
  const keys = denied.map(({ limit, key: subject, ...counts }) => {
    const seen = recorder.seen(subject).find(({ core }) => core.name === counts.limiter);
    const key = seen ?? findKey([counts.limiter, limit, subject], find);
    const text = showKey(key ?? { key: subject, length: subject.length });
    return { ...counts, key: text, id: key === undefined ? null : writeId(key) };
  });
  return {
    sinceMs: Math.min(...records.map(({ sinceMs }) => sinceMs)),
    keys,
    others: sharing === undefined ? null : others.map(({ pid, host, ageMs }) => ({ pid, host, ageMs })),
    awaySinceMs: sharing?.awaySinceMs ?? null,
  };
}

/** Limiters of one name count as one. */
function showLimiters({ only, recorder: { counts, minute } }: Shown): readonly ShownLimiter[] {
  return [...new Map(listCores(only).map((core) => [core.name, core])).values()].map((core) => {
    const known = core.known.flatMap((limit): readonly (readonly [string, string | null])[] => {
      const policies = readPresent(limit);
      return policies.length === 0
        ? [[limit.name, null]]
        : policies.map((one) => [one.name, describePolicy(one.policy)]);
    });
    const counted = [...counts.values()].filter(({ limiter }) => limiter === core.name);
    const texts = new Map([...counted.map(({ policy }) => [policy, null] as const), ...known]);
    const policies = [...texts].map(([name, text]) => {
      const { allowed, denied } = counts.get(`${core.name} ${name}`) ?? NO_COUNTS;
      const deniedByMinute = [...denied.subarray(minute + 1), ...denied.subarray(0, minute + 1)];
      return { name, text, allowed: sum(allowed), denied: sum(denied), deniedByMinute };
    });
    const { store, breaker, keysInMemory } = core.status();
    return { name: core.name, store, breaker, keysInMemory, policies };
  });
}

/** The policies of a limit, if they do not depend on the key; none while a managed policy is being loaded. */
function readPresent({ fixed, mark, read }: Limit): NonNullable<Limit['fixed']> {
  if (fixed !== undefined || mark?.name === undefined) return fixed ?? [];
  const policies = read('any');
  if (!(policies instanceof Promise)) return policies;
  policies.catch(() => undefined); // decisions report it
  return [];
}

const NO_COUNTS = { allowed: new Uint32Array(MINUTES), denied: new Uint32Array(MINUTES) };

function sum(counts: Uint32Array): number {
  return counts.reduce((total, count) => total + count, 0);
}
