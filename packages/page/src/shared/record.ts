/** How often a key was denied in a minute by a policy, or by a block, and the numbers at the last denial. */
export interface Denial {
  /** The first one. */
  readonly atMs: number;
  readonly count: number;
  readonly used: number;
  readonly limit: number;
  readonly windowMs: number;
  /** Whether a block denied it, whatever its numbers. */
  readonly isBlocked: boolean;
}

/** A key that a process has denied. */
export interface SharedKey {
  readonly limiter: string;
  /** Its limit, as pages refer to it. */
  readonly limit: string;
  readonly policy: string;
  /** The key in stores: a long one is `#` and its hash. */
  readonly key: string;
  /** How often it was denied, at least. */
  readonly count: number;
  /** The latest denials, newest first. */
  readonly denials: readonly Denial[];
}

/** What a process's page shares: its denials, and the policies that only it may still have. */
export interface PageRecord {
  readonly pid: number;
  readonly host: string;
  /** When it began to count, by its own clock. */
  readonly sinceMs: number;
  /** Denials in each minute of the last hour, newest last. */
  readonly deniedByMinute: readonly number[];
  readonly keys: readonly SharedKey[];
  /** Managed policies that their source has lost and this process still has, the first 25. */
  readonly lost: readonly string[];
}

/** How many minutes are kept. */
export const MINUTES = 60;
export const MAX_SHARED_KEYS = 25;
export const MAX_SHARED_DENIALS = 3;
const MINUTE_MS = 60_000;
const MAX_RECORD = 12_288;
const MAX_TEXT = 512;

type Shape<T> = { readonly [Name in keyof T]-?: (given: unknown) => boolean };

const isText = (given: unknown): boolean => typeof given === 'string' && given.length <= MAX_TEXT;
const isCount = (given: unknown): boolean => Number.isSafeInteger(given) && Number(given) >= 0;
const isInstant = (given: unknown): boolean => isCount(given) && Number(given) <= 8.64e15; // the last of a Date
const isList = (max: number, is: (given: unknown) => boolean) => (given: unknown) =>
  Array.isArray(given) && given.length <= max && given.every(is);
const DENIAL: Shape<Denial> = {
  ...{ atMs: isInstant, count: isCount, used: isCount, limit: isCount, windowMs: isCount },
  isBlocked: (given) => typeof given === 'boolean',
};
const KEY: Shape<SharedKey> = {
  ...{ limiter: isText, limit: isText, policy: isText, key: isText, count: isCount },
  denials: isList(MAX_SHARED_DENIALS, (denial) => isShaped(denial, DENIAL)),
};
const RECORD: Shape<PageRecord> = {
  ...{ pid: isCount, host: isText, sinceMs: isInstant },
  deniedByMinute: isList(MINUTES, isCount),
  keys: isList(MAX_SHARED_KEYS, (key) => isShaped(key, KEY)),
  lost: isList(MAX_SHARED_KEYS, isText),
};

/** Adds a denial to those of its minute and kind. A block that begins within a minute is not why it was denied before. */
export function addDenial(all: Denial[], { atMs, count, ...numbers }: Denial): void {
  const minute = Math.floor(atMs / MINUTE_MS);
  const isOne = (one: Denial): boolean =>
    one.isBlocked === numbers.isBlocked && Math.floor(one.atMs / MINUTE_MS) === minute;
  const at = all.findLastIndex(isOne);
  const known = all[at];
  if (known === undefined) all.push({ atMs, count, ...numbers });
  else all[at] = { atMs: known.atMs, count: known.count + count, ...numbers };
}

/** A record as it is written. Escapes make keys longer: the keys denied least are left out then. */
export function writeRecord(record: PageRecord): string {
  for (let keys = record.keys.slice(0, MAX_SHARED_KEYS); ; keys = keys.slice(0, -1)) {
    const text = JSON.stringify({ ...record, keys });
    if (text.length <= MAX_RECORD) return text;
  }
}

/** Reads a record. Undefined for a text that no page has written: other programs may write to Redis too. */
export function readRecord(text: string): PageRecord | undefined {
  if (text.length > MAX_RECORD) return undefined;
  try {
    const record: unknown = JSON.parse(text);
    return isShaped(record, RECORD) ? record : undefined;
  } catch {
    return undefined; // no JSON
  }
}

function isShaped<T>(given: unknown, shape: Shape<T>): given is T {
  const names = Object.keys(shape) as (keyof T)[];
  return typeof given === 'object' && given !== null && names.every((name) => shape[name]((given as T)[name]));
}
