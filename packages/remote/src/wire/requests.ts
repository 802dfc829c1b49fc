import { holdsSlots, shown, LONGEST_TIMER_MS, LONGEST_MS } from '@sluice/old-core/spi';
import { type Limit, type Part, type StoreRequest, StoreError } from '@sluice/old-core';
import { flag, listOf, optionalNumber, wholeNumber } from './checks.ts';
import { FrameError } from './frames.ts';

/** The number by which a connection names a limit. */
export type NumberOf = (limit: Limit) => number;
/** The limit of a number, or why the server cannot count it. */
export type LimitAt = (number: number) => Limit | Error;

/** The operations of a call, as the server has read them. */
export interface ReadCall {
  /** How long the client waits, in milliseconds from now; undefined where it did not say. */
  readonly leftMs: number | undefined;
  /** An error in place of a request whose limit cannot be counted. */
  readonly requests: readonly (StoreRequest | Error)[];
}

/** `encodeSubject` makes 256 characters at most. Preflights put a mark before them. */
export const LONGEST_SUBJECT = 512;
const LONGEST_HOLDER = 40;
const MOST_REQUESTS = 1024;
const MOST_PARTS = 1024;
const EDITS = ['release', 'renew', 'reset', 'unblock'] as const;

/** @param leftMs - How long the caller waits. */
export function requestsToJson(
  requests: readonly StoreRequest[],
  leftMs: number | undefined,
  numberOf: NumberOf,
): readonly unknown[] {
  return [leftMs ?? null, ...requests.map((request) => requestToJson(request, numberOf))];
}

function requestToJson(request: StoreRequest, numberOf: NumberOf): readonly unknown[] {
  if ('parts' in request) {
    const parts = request.parts.map((part) => partToJson(part, numberOf));
    return [request.op, parts];
  }
  const written = [request.op, partToJson(request.part, numberOf)];
  switch (request.op) {
    case 'refund':
      return [...written, request.chargedUntilMs ?? null, request.byMs ?? null];
    case 'charge':
      return [...written, request.chargedUntilMs ?? null];
    case 'block':
      return [...written, request.durationMs, request.reset === true ? 1 : 0];
    case 'heal':
      return [...written, request.byMs ?? null];
    default:
      return written;
  }
}

function partToJson({ limit, subject, cost, holder }: Part, numberOf: NumberOf): readonly unknown[] {
  return holder === undefined ? [numberOf(limit), subject, cost] : [numberOf(limit), subject, cost, holder];
}

/** @throws FrameError for what {@link requestsToJson} does not write. */
export function requestsFromJson(given: unknown, limitAt: LimitAt): ReadCall {
  const [leftMs, ...written] = listOf(given, 'a call', 2, MOST_REQUESTS + 1);
  return {
    leftMs: optionalNumber(leftMs, 'the time left', 1, LONGEST_TIMER_MS),
    requests: written.map((request) => requestFromJson(request, limitAt)),
  };
}

function requestFromJson(given: unknown, limitAt: LimitAt): StoreRequest | Error {
  const [op, target, ...rest] = listOf(given, 'a request', 2, 4);
  if (op === 'consume' || op === 'peek') {
    const parts = listOf(target, 'parts', 1, MOST_PARTS).map((part) => partFromJson(part, limitAt));
    const failed = parts.find((part) => part instanceof Error);
    if (op === 'consume' && failed === undefined) checkHolders(parts as readonly Part[]);
    return failed ?? { op, parts: parts as readonly Part[] };
  }
  const part = partFromJson(target, limitAt);
  if (part instanceof Error) return part;
  const edit = EDITS.find((known) => known === op);
  if (edit !== undefined) return { op: edit, part: checkHolder(edit, part) };
  if (op === 'refund' || op === 'charge') {
    const windows = rest[0] === null || rest[0] === undefined ? {} : { chargedUntilMs: instants(rest[0], part) };
    return op === 'charge' ? { op, part, ...windows } : { op, part, ...windows, ...byMs(rest[1]) };
  }
  if (op === 'heal') return { op, part, ...byMs(rest[0]) };
  if (op === 'block') {
    return { op, part, durationMs: wholeNumber(rest[0], 'durationMs', 1, LONGEST_MS), reset: flag(rest[1], 'reset') };
  }
  throw new FrameError(`there is no operation ${shown(op)}`);
}

function partFromJson(given: unknown, limitAt: LimitAt): Part | Error {
  const [number, subject, cost, holder] = listOf(given, 'a part', 3, 4);
  const limit = limitAt(wholeNumber(number, 'the number of a limit'));
  if (limit instanceof Error) return limit;
  const part = { limit, subject: subjectFromJson(subject), cost: wholeNumber(cost, 'cost') };
  return holder === undefined ? part : { ...part, holder: holderFromJson(holder) };
}

/** @throws FrameError for anything but a string that `encodeSubject` can make. */
export function subjectFromJson(given: unknown): string {
  if (typeof given === 'string' && given !== '' && given.length <= LONGEST_SUBJECT) return given;
  throw new FrameError(`a subject must be a string of 1 to ${String(LONGEST_SUBJECT)} characters`);
}

function holderFromJson(given: unknown): string {
  if (typeof given === 'string' && given.length <= LONGEST_HOLDER && /^\d+$/.test(given)) return given;
  throw new FrameError(`a holder must be 1 to ${String(LONGEST_HOLDER)} digits, got ${shown(given)}`);
}

function checkHolder(op: string, part: Part): Part {
  if ((op !== 'release' && op !== 'renew') || part.holder !== undefined) return part;
  throw new FrameError(`${op} needs a holder`);
}

function instants(given: unknown, { limit }: Part): readonly number[] {
  const { length } = limit.policies;
  return listOf(given, 'chargedUntilMs', length, length).map((atMs) => wholeNumber(atMs, 'chargedUntilMs'));
}

function byMs(given: unknown): { readonly byMs?: number } {
  const atMs = optionalNumber(given, 'byMs');
  return atMs === undefined ? {} : { byMs: atMs };
}

/** The error of a call whose limit the server cannot count. */
export function uncountable(why: unknown): StoreError {
  const message = why instanceof Error ? why.message.replace(/ \[SLUICE_[A-Z_]+\]$/, '') : String(why);
  return new StoreError('SLUICE_STORE_FAILED', `the server cannot count this limit: ${message}`, { cause: why });
}

/** @throws FrameError where slots would be held without a holder, so that nothing could release them. */
function checkHolders(parts: readonly Part[]): void {
  if (!parts.some(({ limit, holder }) => holder === undefined && holdsSlots(limit.policies))) return;
  throw new FrameError('a consume of slots needs a holder');
}
