import type { PageChange } from '../changes.ts';

/** A key that a process has denied. */
export interface SharedKey {
  readonly limiter: string;
  /** Its limit, as pages name it. */
  readonly limit: string;
  readonly policy: string;
  /** The key as stores have it: a long one as `#` and its hash. */
  readonly key: string;
  /** Denied at most so often, and at least `atLeast` times. */
  readonly count: number;
  readonly atLeast: number;
}

/** What the page of a process shares: the keys that it has denied most, and the policies that it alone may still have. */
export interface PageRecord {
  readonly pid: number;
  readonly host: string;
  /** Since when it has counted, by its own clock. */
  readonly sinceMs: number;
  /** The most that a key which is not in `keys` can have been denied. */
  readonly beyond: number;
  readonly keys: readonly SharedKey[];
  /** Managed policies that their source has lost and this process still has, the first 25. */
  readonly lost: readonly string[];
}

export const MAX_SHARED_KEYS = 25;
const MAX_RECORD = 8_192;
const MAX_TEXT = 512;
const ACTIONS: readonly unknown[] = ['block', 'unblock', 'reset', 'set override', 'end override'];

type Shape<T> = { readonly [Name in keyof T]-?: (given: unknown) => boolean };

const isText = (given: unknown): boolean => typeof given === 'string' && given.length <= MAX_TEXT;
const isCount = (given: unknown): boolean => Number.isSafeInteger(given) && Number(given) >= 0;
const KEY: Shape<SharedKey> = {
  ...{ limiter: isText, limit: isText, policy: isText, key: isText, count: isCount, atLeast: isCount },
};
const isKeys = (given: unknown): boolean =>
  Array.isArray(given) && given.length <= MAX_SHARED_KEYS && given.every((key) => pick(key, KEY) !== undefined);
const isNames = (given: unknown): boolean =>
  Array.isArray(given) && given.length <= MAX_SHARED_KEYS && given.every(isText);
const RECORD: Shape<PageRecord> = {
  ...{ pid: isCount, host: isText, sinceMs: isCount, beyond: isCount, keys: isKeys, lost: isNames },
};
const isAction = (given: unknown): boolean => ACTIONS.includes(given);
const CHANGE: Shape<PageChange> = {
  ...{ atMs: isCount, by: isText, action: isAction, target: isText, detail: isText, reason: isText },
};

/** A record as it is written. Escapes make keys longer: the keys denied least are left out then. */
export function writeRecord(record: PageRecord): string {
  const keys = record.keys.slice(0, MAX_SHARED_KEYS);
  for (let { beyond } = record; ; beyond = Math.max(beyond, keys.pop()?.count ?? 0)) {
    const text = JSON.stringify({ ...record, beyond, keys });
    if (text.length <= MAX_RECORD) return text;
  }
}

/** Reads a record. Undefined for a text that no page has written: others may write to Redis, too. */
export function readRecord(text: string): PageRecord | undefined {
  const record = text.length > MAX_RECORD ? undefined : read(text, RECORD);
  return record && { ...record, keys: record.keys.map((key) => pick(key, KEY) as SharedKey) };
}

/** Reads a change. Undefined for a text that is none. */
export function readChange(text: string): PageChange | undefined {
  return read(text, CHANGE);
}

function read<T>(text: string, shape: Shape<T>): T | undefined {
  try {
    return pick(JSON.parse(text), shape);
  } catch {
    return undefined; // no JSON
  }
}

/** The fields of a shape; undefined unless all are as it says. */
function pick<T>(given: unknown, shape: Shape<T>): T | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  const names = Object.keys(shape) as (keyof T)[];
  const isRead = names.every((name) => shape[name]((given as T)[name]));
  return isRead ? (Object.fromEntries(names.map((name) => [name, (given as T)[name]])) as T) : undefined;
}
