import { hostname } from 'node:os';
import { describePolicy, type LimitEvent } from '@sluice/core';
import type { Limit, LimiterCore } from '@sluice/core/spi';
import { countOf, type DeniedKey } from './denied-keys.ts';
import { findKey, showKey, writeId, type FindLimits } from './key-names.ts';
import { limitId, listCores } from './limits.ts';
import type { Recorder } from './recorder.ts';
import { MAX_SHARED_DENIALS, MAX_SHARED_KEYS, MINUTES, type PageRecord, type SharedKey } from './shared/record.ts';
import { mergeDenied, mergeLost } from './shared/redis.ts';
import type { Sharing } from './shared/sharing.ts';

const HOUR_MS = 3_600_000;

/** All that the page shows without a question. */
export interface Snapshot {
  readonly atMs: number;
  readonly process: { readonly pid: number; readonly host: string; readonly sinceMs: number };
  /** The operator's name; null: the operator has to give one. */
  readonly operator: string | null;
  readonly limiters: readonly ShownLimiter[];
  readonly denied: ShownKeys;
  /** The managed policies that their source has lost, and the processes known to still have them. */
  readonly lost: readonly { readonly name: string; readonly processes: readonly ShownProcess[] }[];
  /** Outages and losses in progress. */
  readonly troubles: readonly LimitEvent[];
  /** What changed and broke, newest first: the events that the operator asked for. */
  readonly events: readonly LimitEvent[];
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
  /** How long half of the decisions take, and 99 of a hundred. Null without any. */
  readonly p50Ms: number | null;
  readonly p99Ms: number | null;
  readonly policies: readonly ShownCounts[];
}

/** One policy: its numbers, and its decisions in the last hour. */
export interface ShownCounts {
  readonly name: string;
  /** Null if a function returns the policy for each key, or it is not loaded yet. */
  readonly text: string | null;
  readonly allowed: number;
  readonly denied: number;
  /** Newest minute last. */
  readonly deniedByMinute: readonly number[];
}

/** The keys denied most, by this process and those that share their counts. */
export interface ShownKeys {
  readonly sinceMs: number;
  readonly keys: readonly ShownKey[];
  /** All denials, newest minute last. */
  readonly byMinute: readonly number[];
  /** The other processes; null if this page shares nothing. `ageMs`: the age of their counts. */
  readonly others: readonly { readonly pid: number; readonly host: string; readonly ageMs: number }[] | null;
  /** When Redis stopped accepting or returning counts; null: it does both. */
  readonly awaySinceMs: number | null;
}

/** `id`: null if only another process knows its limit. */
export type ShownKey = Omit<SharedKey, 'limit'> & { readonly id: string | null };

/** The sources of a snapshot. */
export interface Shown {
  readonly recorder: Recorder;
  readonly find: FindLimits;
  readonly only: ReadonlySet<LimiterCore> | undefined;
  readonly sharing: Sharing | undefined;
  readonly troubles: readonly LimitEvent[];
  readonly events: readonly LimitEvent[];
}

export function takeSnapshot(shown: Shown, operator: string | undefined): Snapshot {
  const { recorder, troubles, events } = shown;
  return {
    atMs: Date.now(),
    process: { pid: process.pid, host: hostname(), sinceMs: recorder.startedAtMs },
    operator: operator ?? null,
    limiters: showLimiters(shown),
    denied: showDenied(shown),
    lost: mergeLost(readRecords(shown)).map(({ name, processes }) => {
      return { name, processes: processes.map(({ pid, host }) => ({ pid, host })) };
    }),
    troubles,
    events,
  };
}

/** The current record of a page, to share. */
export function makeRecord(recorder: Recorder, only: Shown['only']): PageRecord {
  const { denied, counts, startedAtMs } = recorder;
  const keys = denied.rank(MAX_SHARED_KEYS).map((key) => {
    const shared = shareKey(key);
    return { ...shared, denials: shared.denials.slice(0, MAX_SHARED_DENIALS) };
  });
  const deniedByMinute = addUp([...counts.values()].map((one) => recorder.inOrder(one.denied)));
  const lost = [...new Set(listCores(only).flatMap((core) => core.status().lostPolicies))].slice(0, MAX_SHARED_KEYS);
  const sinceMs = Math.max(startedAtMs, Date.now() - HOUR_MS);
  return { pid: process.pid, host: hostname(), sinceMs, deniedByMinute, keys, lost };
}

/** Writes a key for the record that processes share, with all its denials. */
export function shareKey(key: DeniedKey): SharedKey {
  const { core, limit, policy, subject, denials } = key;
  const about = { limiter: core.name, limit: limitId(core, limit), policy, key: subject };
  return { ...about, count: countOf(key), denials: denials.toReversed() };
}

/** The current record of this process, and those of others. */
function readRecords({ recorder, only, sharing }: Shown): readonly (PageRecord & { readonly ageMs: number })[] {
  return [{ ...makeRecord(recorder, only), ageMs: 0 }, ...listOthers(sharing)];
}

function showDenied(shown: Shown): ShownKeys {
  const { recorder, find, sharing } = shown;
  const records = readRecords(shown);
  const others = records.slice(1);
  const denied = mergeDenied(records).slice(0, MAX_SHARED_KEYS);
  const keys = denied.map(({ limit, key: subject, ...shared }) => {
    const seen = recorder.denied.find(subject).find(({ core }) => core.name === shared.limiter);
    const key = seen ?? findKey([shared.limiter, limit, subject], find);
    const shownKey = showKey(key ?? { key: subject, length: subject.length });
    return { ...shared, key: shownKey, id: key === undefined ? null : writeId(key) };
  });
  return {
    sinceMs: Math.min(...records.map(({ sinceMs }) => sinceMs)),
    keys,
    byMinute: addUp(records.map(({ deniedByMinute }) => deniedByMinute)),
    others: sharing === undefined ? null : others.map(({ pid, host, ageMs }) => ({ pid, host, ageMs })),
    awaySinceMs: sharing?.awaySinceMs ?? null,
  };
}

/** What the other processes share. */
export function listOthers(sharing: Sharing | undefined): Sharing['records'] {
  return (sharing?.records ?? []).filter(({ pid, host }) => pid !== process.pid || host !== hostname());
}

/** Adds up counts by minute, any of which may start later. */
function addUp(all: readonly (readonly number[])[]): readonly number[] {
  return Array.from({ length: MINUTES }, (_, i) => all.reduce((sum, counts) => sum + (counts.at(i - MINUTES) ?? 0), 0));
}

/** Limiters with one name count as one. */
function showLimiters({ only, recorder }: Shown): readonly ShownLimiter[] {
  const { counts, durations } = recorder;
  return [...new Map(listCores(only).map((core) => [core.name, core])).values()].map((core) => {
    const known = core.known.flatMap((limit): readonly (readonly [string, string | null])[] => {
      const policies = readPresent(limit);
      return policies.length === 0
        ? [[limit.name, null]]
        : policies.map((one) => [
            one.name,
            `${describePolicy(one.policy)}${limit.mark?.name === undefined ? '' : ', managed'}`,
          ]);
    });
    const counted = [...counts.values()].filter(({ limiter }) => limiter === core.name);
    const texts = new Map([...counted.map(({ policy }) => [policy, null] as const), ...known]);
    const policies = [...texts].map(([name, text]) => {
      const { allowed, denied } = counts.get(`${core.name} ${name}`) ?? NO_COUNTS;
      return { name, text, allowed: sum(allowed), denied: sum(denied), deniedByMinute: recorder.inOrder(denied) };
    });
    const { store, breaker, keysInMemory } = core.status();
    const took = durations.get(core.name);
    const readMs = (percent: number): number | null => (took?.count ? took.percentile(percent) / 1e6 : null);
    return { name: core.name, store, breaker, keysInMemory, p50Ms: readMs(50), p99Ms: readMs(99), policies };
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
