import { decodePair, encodePair, toInteger } from '../instant-and-field.ts';

/**
 * The state of a sliding log: instants, ascending, each with the count of all units consumed up to it. The first
 * `base` units are gone. A log never changes in place, and one that grows by an instant shares all chunks but the
 * last.
 *
 * A log can leave instants out: their units then count at the next later instant, never too early. So a summary, the
 * newest instant alone, is also a log, and so is the reply of the script, which leaves out what the client does not
 * need.
 */
export interface Log {
  readonly base: number;
  /** Instant and count alternate, {@link CHUNK} instants in each chunk but the last. */
  readonly chunks: readonly (readonly number[])[];
}

const CHUNK = 64;

/** The count of all units ever consumed. */
export function totalOf({ chunks }: Log): number {
  return chunks.at(-1)?.at(-1) ?? 0;
}

export function newestMs({ chunks }: Log): number {
  return chunks.at(-1)?.at(-2) ?? 0;
}

/** How many units are gone when all units consumed up to an instant are gone. */
export function goneUpTo(log: Log, atMs: number): number {
  const at = firstOf(log, (instantMs) => instantMs > atMs);
  return Math.max(log.base, at === undefined ? totalOf(log) : countBefore(log, at));
}

/** The instant at which the unit with this number, counted from 1, was consumed. */
export function instantOf(log: Log, unit: number): number {
  const at = firstOf(log, (_, upTo) => upTo >= unit);
  return at === undefined ? newestMs(log) : (log.chunks[at[0]]?.[at[1]] ?? 0);
}

/** The log with so many more units at an instant, which is not before its newest one, and the first `base` gone. */
export function withUnits(log: Log, base: number, units: number, atMs: number): Log {
  const upTo = totalOf(log) + units;
  const gone = log.chunks.findIndex((chunk) => (chunk.at(-1) ?? 0) > base);
  const chunks = log.chunks.slice(gone === -1 ? log.chunks.length : gone);
  const last = chunks.at(-1);
  if (last?.at(-2) === atMs) chunks[chunks.length - 1] = [...last.slice(0, -1), upTo];
  else if (last !== undefined && last.length < 2 * CHUNK) chunks[chunks.length - 1] = [...last, atMs, upTo];
  else chunks.push([atMs, upTo]);
  return { base, chunks };
}

/** The log without so many of its newest units, of which some are left. */
export function withoutNewest(log: Log, units: number): Log {
  const upTo = totalOf(log) - units;
  const [chunk, index] = firstOf(log, (_, count) => count >= upTo) as readonly [number, number];
  const last = log.chunks[chunk] as readonly number[];
  return { base: log.base, chunks: [...log.chunks.slice(0, chunk), [...last.slice(0, index + 1), upTo]] };
}

/** The summary of a log: its newest instant, and how many units are not gone. */
export function summaryOf(log: Log): Log {
  return { base: 0, chunks: [[newestMs(log), totalOf(log) - log.base]] };
}

/** A summary is a pair; else `base`, then instants and counts in turn, separated by colons. */
export function encodeLog({ base, chunks }: Log): string {
  const [only] = chunks;
  if (base === 0 && chunks.length === 1 && only?.length === 2) return encodePair(only[0] as number, only[1] as number);
  return [base, ...chunks.flat()].join(':');
}

export function decodeLog(text: string): Log | undefined {
  const fields = text.split(':');
  if (fields.length < 3) {
    const pair = decodePair(text);
    return pair && pair[1] > 0 ? { base: 0, chunks: [[pair[0], pair[1]]] } : undefined;
  }
  const [base, ...numbers] = fields.map(toInteger);
  if (base === undefined || numbers.length % 2 !== 0) return undefined;
  const chunks: number[][] = [];
  for (let i = 0; i < numbers.length; i += 2) {
    const [atMs, upTo] = [numbers[i], numbers[i + 1]];
    if (atMs === undefined || upTo === undefined) return undefined;
    if (i > 0 && (atMs <= (numbers[i - 2] as number) || upTo <= (numbers[i - 1] as number))) return undefined;
    if (i % (2 * CHUNK) === 0) chunks.push([]);
    chunks.at(-1)?.push(atMs, upTo);
  }
  return base < (numbers.at(-1) ?? 0) ? { base, chunks } : undefined;
}

/**
 * The position (chunk, and index in it) of the first instant for which a condition holds, as it does for all later
 * ones.
 */
function firstOf(
  { chunks }: Log,
  is: (instantMs: number, upTo: number) => boolean,
): readonly [chunk: number, index: number] | undefined {
  const isIn = (chunk: readonly number[], index: number): boolean =>
    is(chunk[index] as number, chunk[index + 1] as number);
  const found = first(chunks.length, (at) => isIn(chunks[at] as readonly number[], (chunks[at]?.length ?? 0) - 2));
  const chunk = chunks[found];
  if (chunk === undefined) return undefined;
  return [found, 2 * first(chunk.length / 2, (at) => isIn(chunk, 2 * at))];
}

/**
 * The least number below `length` for which a condition holds, as it does for all larger ones; `length` if there is
 * none.
 */
function first(length: number, is: (at: number) => boolean): number {
  let from = 0;
  let to = length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (is(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}

function countBefore({ chunks }: Log, [chunk, index]: readonly [number, number]): number {
  if (index > 0) return chunks[chunk]?.[index - 1] ?? 0;
  return chunk > 0 ? (chunks[chunk - 1]?.at(-1) ?? 0) : 0;
}
