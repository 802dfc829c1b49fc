import type { Redis } from 'ioredis';

/** What a log's two keys hold, as plain numbers. */
export interface Held {
  /** Units that are not gone, as the value says. */
  readonly units: number;
  /** The list: instants, and units taken at each. Of the first, those that are not gone. */
  readonly entries: readonly (readonly [atMs: number, units: number])[];
  /** When the value expires, and when the list does. */
  readonly expireAtMs: readonly [value: number, list: number];
}

const MILLION = 1_000_000;
const unpack = (packed: string): [number, number] => [Number(packed.slice(0, -6)), Number(packed.slice(-6))];

/** Reads both; undefined where there is neither. */
export async function heldUnder(redis: Redis, key: string): Promise<Held | undefined> {
  const list = `${key}:l1`;
  const [value, packed, ...expireAtMs] = await Promise.all([
    redis.get(key),
    redis.lrange(list, 0, -1),
    redis.pexpiretime(key),
    redis.pexpiretime(list),
  ]);
  if (value === null && packed.length === 0) return undefined;
  const [, units] = unpack(value ?? '');
  const read = packed.map(unpack);
  const entries = read.map(([atMs, upTo], i): [number, number] => [
    atMs,
    (upTo - (read[i - 1]?.[1] ?? upTo) + MILLION) % MILLION,
  ]);
  const later = entries.slice(1).reduce((sum, [, taken]) => sum + taken, 0);
  if (entries[0] !== undefined) entries[0][1] = units - later;
  return { units, entries, expireAtMs };
}
