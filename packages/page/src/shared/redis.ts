import { setImmediate } from 'node:timers/promises';
import { SharedLines, type RedisConnection } from '@sluice/core/spi';
import {
  addDenial,
  MAX_SHARED_KEYS,
  readRecord,
  writeRecord,
  type Denial,
  type PageRecord,
  type SharedKey,
} from './record.ts';

/** The record of a process. `ageMs`: how long ago it was written, by Redis's clock. */
export type SharedRecord = PageRecord & { readonly ageMs: number };

/** How long a record outlives a killed process. */
const KEPT_MS = 30_000;
const MAX_PROCESSES = 100;

/**
 * Reads what the pages of several processes share: at most a hundred records, and a megabyte. Each turn of the event
 * loop parses one record.
 *
 * @throws (rejects) StoreError.
 */
export async function readShared(connection: RedisConnection): Promise<readonly SharedRecord[]> {
  const { nowMs, lines } = await findLines(connection).read();
  const records: SharedRecord[] = [];
  for (const { endsAtMs, text } of lines) {
    await setImmediate();
    const record = readRecord(text);
    if (record !== undefined) records.push({ ...record, ageMs: Math.max(0, KEPT_MS - (endsAtMs - nowMs)) });
  }
  return records;
}

/** Writes the record of a process, for half a minute. */
export async function shareRecord(connection: RedisConnection, record: PageRecord): Promise<void> {
  const name = `${String(record.pid)}@${encodeURIComponent(record.host)}`; // several pages of a process count the same
  await findLines(connection).put([{ name, text: writeRecord(record) }]);
}

/** The keys that several processes have denied most, the most first. Counts add up. */
export function mergeDenied(records: readonly Pick<PageRecord, 'keys'>[]): readonly SharedKey[] {
  const merged = new Map<string, SharedKey>();
  for (const key of records.flatMap(({ keys }) => keys)) {
    const name = JSON.stringify([key.limiter, key.policy, key.key]);
    const { count, denials } = merged.get(name) ?? { count: 0, denials: [] };
    const all: Denial[] = [];
    for (const one of [...denials, ...key.denials].toSorted((a, b) => a.atMs - b.atMs)) addDenial(all, one);
    merged.set(name, { ...key, count: count + key.count, denials: all.reverse() });
  }
  return [...merged.values()].toSorted((a, b) => b.count - a.count || (a.key < b.key ? -1 : 1));
}

/** The managed policies that their source has lost, the first 25, and the processes that still have them. */
export function mergeLost<Process extends PageRecord>(
  records: readonly Process[],
): readonly { readonly name: string; readonly processes: readonly Process[] }[] {
  const names = [...new Set(records.flatMap(({ lost }) => lost))].sort().slice(0, MAX_SHARED_KEYS);
  return names.map((name) => ({ name, processes: records.filter(({ lost }) => lost.includes(name)) }));
}

function findLines(connection: RedisConnection): SharedLines {
  return new SharedLines(connection, '{#page}:denied', KEPT_MS, MAX_PROCESSES);
}
