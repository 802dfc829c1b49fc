import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import type { RedisConnection } from '@sluice/core/spi';
import type { PageChange } from '../changes.ts';
import { readChange, readRecord, writeRecord, type PageRecord, type SharedKey } from './record.ts';
import { getLists, putLine } from './scripts.generated.ts';

/** What the pages of processes have written to a Redis. */
export interface Shared {
  /** `ageMs`: how long ago it was written, by the clock of Redis. */
  readonly records: readonly (PageRecord & { readonly ageMs: number })[];
  /** The last one first. */
  readonly changes: readonly PageChange[];
}

/** How long a record outlives a process that was killed. */
const KEPT_MS = 30_000;
const CHANGES_KEPT_MS = 7 * 86_400_000;
const MAX_LINES = 100;
const MAX_BYTES = 1_048_576;

/**
 * Reads what pages share: a list of records and one of changes, of at most a hundred lines and a megabyte each. One record
 * is parsed in each turn of the event loop. It takes the rights that every limiter has: `GET` and `SET` in scripts.
 *
 * @throws (rejects) StoreError.
 */
export async function readShared(connection: RedisConnection): Promise<Shared> {
  const keys = [keyOf(connection, 'denied'), keyOf(connection, 'changes')];
  const reply = (await connection.eval(getLists.source, keys, [String(MAX_BYTES)])) as readonly unknown[];
  const [now = '', denied = '', changes = ''] = reply.map(String);
  const records: Shared['records'][number][] = [];
  for (const { untilMs, text } of readLines(denied)) {
    await setImmediate();
    const record = readRecord(text);
    const leftMs = untilMs - Number(now);
    if (record !== undefined && leftMs > 0) records.push({ ...record, ageMs: Math.max(0, KEPT_MS - leftMs) });
  }
  return { records, changes: readLines(changes).flatMap(({ text }) => readChange(text) ?? []) };
}

/** Writes the record of a process, for half a minute. */
export async function shareRecord(connection: RedisConnection, record: PageRecord): Promise<void> {
  const name = `${String(record.pid)}@${encodeURIComponent(record.host)}`; // several pages of a process count the same
  const args = [name, String(KEPT_MS), String(MAX_LINES), writeRecord(record)];
  await connection.eval(putLine.source, [keyOf(connection, 'denied')], args);
}

/** Adds a change to the last hundred, which pages show for a week. */
export async function shareChange(connection: RedisConnection, change: PageChange): Promise<void> {
  const args = [randomUUID(), String(CHANGES_KEPT_MS), String(MAX_LINES), JSON.stringify(change)];
  await connection.eval(putLine.source, [keyOf(connection, 'changes')], args);
}

/**
 * The keys that several processes have denied most, the most first. Counts add up; a process that does not list a key can
 * have denied it as often as any that it does not list.
 */
export function mergeDenied(records: readonly PageRecord[]): readonly SharedKey[] {
  const beyondAll = records.reduce((sum, { beyond }) => sum + beyond, 0);
  const merged = new Map<string, SharedKey>();
  for (const { keys, beyond } of records) {
    for (const key of keys) {
      const name = JSON.stringify([key.limiter, key.policy, key.key]);
      const { count, atLeast } = merged.get(name) ?? { count: beyondAll, atLeast: 0 };
      merged.set(name, { ...key, count: count - beyond + key.count, atLeast: atLeast + key.atLeast });
    }
  }
  return [...merged.values()].toSorted(
    (a, b) => b.atLeast - a.atLeast || b.count - a.count || (a.key < b.key ? -1 : 1),
  );
}

/** The managed policies that their source has lost, and the processes that still have them. */
export function mergeLost<Process extends PageRecord>(
  records: readonly Process[],
): readonly { readonly name: string; readonly processes: readonly Process[] }[] {
  const names = [...new Set(records.flatMap(({ lost }) => lost))].sort();
  return names.map((name) => ({ name, processes: records.filter(({ lost }) => lost.includes(name)) }));
}

/** Both are in one slot of a cluster. */
function keyOf({ prefix }: RedisConnection, name: string): string {
  return `${prefix}:page:{page}:${name}`;
}

function readLines(list: string): readonly { readonly untilMs: number; readonly text: string }[] {
  return list
    .split('\n')
    .flatMap((line) => {
      const [, untilMs, text = ''] = /^(\d{1,15}) \S{1,400} (.*)$/s.exec(line) ?? [];
      return untilMs === undefined ? [] : [{ untilMs: Number(untilMs), text }];
    })
    .slice(0, MAX_LINES);
}
