import type { PageChange } from '../history.ts';

/** A process whose page shares its counts. */
export interface SharingProcess {
  readonly pid: number;
  readonly host: string;
  /** Since when it counts, by its own clock. */
  readonly sinceMs: number;
}

/** A key that a process has denied, as its page shares it. */
export interface SharedKey {
  /** What an action names it by, in processes with the same secret. */
  readonly id: string;
  readonly limiter: string;
  readonly policy: string;
  /** As it is shown: its beginning, or its hash. */
  readonly key: string;
  /** The key as the store has it, where that is not `key`; never where keys are shown hashed. */
  readonly subject?: string;
  readonly count: number;
  readonly atLeast: number;
  readonly atMost: number;
}

/** What the page of a process shares: the keys that it has denied most. */
export interface PageRecord {
  readonly process: SharingProcess;
  readonly isHashed: boolean;
  readonly sinceMs: number;
  /** Of how many decisions one is counted at present. */
  readonly oneIn: number;
  /** The most that a key which is not in `keys` can have been denied. */
  readonly beyond: number;
  readonly keys: readonly SharedKey[];
}

/** A change, and whether its target is a hash. */
export interface SharedChange extends PageChange {
  readonly isHashed: boolean;
}

const MOST_KEYS = 50;
const LONGEST_RECORD = 262_144;
const LONGEST_TEXT = 2_048;
/** As actions take it: an id holds the whole key, and can be longer than it. */
const LONGEST_ID = 4_096;
const ACTIONS: readonly unknown[] = ['block', 'unblock', 'reset', 'set override', 'end override'];

/** How many keys a record has. */
export { MOST_KEYS as MOST_SHARED_KEYS };

/** Reads a record. Undefined for a text that no page has written: others may write to Redis, too. */
export function readRecord(text: string): PageRecord | undefined {
  const given = jsonOf(text) as Partial<PageRecord> | undefined;
  if (given === undefined) return undefined;
  const { process, isHashed, sinceMs, oneIn, beyond, keys } = given;
  const isRecord =
    isProcess(process) && typeof isHashed === 'boolean' && [sinceMs, oneIn, beyond].every(isCount) && isKeys(keys);
  if (!isRecord) return undefined;
  const { process: of, keys: all, ...counts } = { process, isHashed, sinceMs, oneIn, beyond, keys } as PageRecord;
  return { process: { pid: of.pid, host: of.host, sinceMs: of.sinceMs }, ...counts, keys: all.map(knownOf) };
}

/** Reads a change. Undefined for a text that is none. */
export function readChange(text: string): SharedChange | undefined {
  const given = jsonOf(text) as Partial<SharedChange> | undefined;
  if (given === undefined) return undefined;
  const { atMs, by, action, target, detail, reason, isHashed } = given;
  const isChange =
    isCount(atMs) &&
    ACTIONS.includes(action) &&
    [by, target, detail, reason].every(isText) &&
    typeof isHashed === 'boolean';
  return isChange ? ({ atMs, by, action, target, detail, reason, isHashed } as SharedChange) : undefined;
}

/** A change as others read it: the beginning of long texts. */
export function cutChange(change: SharedChange): SharedChange {
  const { by, target, detail, reason } = change;
  return { ...change, by: cut(by), target: cut(target), detail: cut(detail), reason: cut(reason) };
}

function cut(text: string): string {
  return text.slice(0, LONGEST_TEXT);
}

/** Without what a later version, or another program, has added. */
function knownOf({ id, limiter, policy, key, subject, count, atLeast, atMost }: SharedKey): SharedKey {
  return { id, limiter, policy, key, ...(subject === undefined ? {} : { subject }), count, atLeast, atMost };
}

function jsonOf(text: string): object | undefined {
  if (text === '' || text.length > LONGEST_RECORD) return undefined;
  try {
    const read: unknown = JSON.parse(text);
    return typeof read === 'object' && read !== null ? read : undefined;
  } catch {
    return undefined;
  }
}

function isProcess(given: unknown): boolean {
  const { pid, host, sinceMs } = (given ?? {}) as Partial<SharingProcess>;
  return isCount(pid) && isText(host) && isCount(sinceMs);
}

function isKeys(given: unknown): boolean {
  return Array.isArray(given) && given.length <= MOST_KEYS && given.every(isKey);
}

function isKey(given: unknown): boolean {
  const { id, limiter, policy, key, subject = '', count, atLeast, atMost } = (given ?? {}) as Partial<SharedKey>;
  const isId = typeof id === 'string' && id.length <= LONGEST_ID;
  return isId && [limiter, policy, key, subject].every(isText) && [count, atLeast, atMost].every(isCount);
}

function isText(given: unknown): boolean {
  return typeof given === 'string' && given.length <= LONGEST_TEXT;
}

function isCount(given: unknown): boolean {
  return Number.isSafeInteger(given) && (given as number) >= 0;
}
