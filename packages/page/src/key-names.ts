import { readSubject } from '@sluice/core/spi';
import { PageProblem } from './exchange.ts';
import { limitId, type KnownLimit, type LimitedKey } from './limits.ts';

/** Ids contain keys, and can be longer than keys. */
export const MAX_ID = 8_192;
const MAX_SHOWN = 256;

/**
 * A key under a limit, as processes refer to it. `key`: set unless it equals the subject; `length`: set unless `key` is
 * complete.
 */
type KeyRef = readonly [limiter: string, limit: string, subject: string, key?: string, length?: number];

/** The limits that a key with this subject may be under, likely ones first. */
export type FindLimits = (subject: string) => readonly KnownLimit[];

/** The text of a key, shortened if it is long. */
export function showKey({ key, length }: Pick<LimitedKey, 'key' | 'length'>): string {
  return length > MAX_SHOWN ? `${key.slice(0, MAX_SHOWN)}… (${String(length)} characters)` : key;
}

/** The id of a key, by which every process that knows its limit can find it. */
export function writeId({ core, limit, subject, key, length }: LimitedKey): string {
  const ref = [core.name, limitId(core, limit), subject, ...(key === subject ? [] : [key, length])];
  return Buffer.from(JSON.stringify(ref)).toString('base64url');
}

/**
 * The key of an id.
 *
 * @throws PageProblem 404 for any other text.
 */
export function readId(id: string, find: FindLimits): LimitedKey {
  const ref = parseRef(Buffer.from(id, 'base64url').toString());
  const key = ref && findKey(ref, find);
  if (key !== undefined) return key;
  throw new PageProblem(404, 'this key was not shown lately: look it up again; nothing was done');
}

/** The key that a reference names; undefined if this process does not know its limit. */
export function findKey(ref: KeyRef, find: FindLimits): LimitedKey | undefined {
  const [limiter, limit, subject, key = subject, length = key.length] = ref;
  const isIt = (one: KnownLimit): boolean => one.core.name === limiter && limitId(one.core, one.limit) === limit;
  const known = find(subject).find(isIt);
  return known && { core: known.core, limit: known.limit, isUnsure: known.isUnsure, subject, key, length };
}

/** An id comes from outside, and its text is logged, so it must be the text of the key that is changed. */
function parseRef(text: string): KeyRef | undefined {
  try {
    const ref = JSON.parse(text) as KeyRef;
    const [, , subject, key = subject, length = key.length] = ref;
    const isWhole = key === subject || (key.length === length && readSubject(key) === subject);
    const isBeginning = key.length <= MAX_SHOWN && length > MAX_SHOWN && subject.startsWith('#');
    return isWhole || isBeginning ? ref : undefined;
  } catch {
    return undefined;
  }
}
