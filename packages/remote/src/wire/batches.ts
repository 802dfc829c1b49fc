import {
  type BatchAnswer,
  type CoalescedRequests,
  type KeyState,
  LONGEST_TIMER_MS,
  readValue,
  writeValue,
} from '@sluice/old-core/spi';
import { StoreError } from '@sluice/old-core';
import { instant } from './answers.ts';
import { listOf, optionalNumber, wholeNumber } from './checks.ts';
import { failureFromJson, failureToJson, strangeAnswer } from './failure.ts';
import { FrameError, MOST_COUNTED } from './frames.ts';
import { subjectFromJson, type LimitAt, type NumberOf } from './requests.ts';

/** The requests of a batch, as the server has read them. */
export interface ReadBatch {
  /** How long the client waits, in milliseconds from now; undefined where it did not say. */
  readonly leftMs: number | undefined;
  /** An error in place of a key whose limit cannot be counted. */
  readonly keys: readonly (CoalescedRequests | Error)[];
}

/** Per key three items: the number of the limit, the subject, and the runs. */
const ITEMS = 3;
const MOST_KEYS = 512;

/** @param leftMs - How long the callers wait. */
export function batchToJson(
  keys: readonly CoalescedRequests[],
  leftMs: number | undefined,
  numberOf: NumberOf,
): readonly unknown[] {
  const written: unknown[] = [leftMs ?? null];
  for (const { limit, subject, runs } of keys) written.push(numberOf(limit), subject, runs ?? 0);
  return written;
}

/** @throws FrameError for what {@link batchToJson} does not write. */
export function batchFromJson(given: unknown, limitAt: LimitAt): ReadBatch {
  const written = listOf(given, 'a batch', 1 + ITEMS, 1 + ITEMS * MOST_KEYS);
  const keys: (CoalescedRequests | Error)[] = [];
  const known = new Set<string>();
  let counted = 0;
  for (let i = 1; i < written.length; i += ITEMS) {
    const limit = limitAt(wholeNumber(written[i], 'the number of a limit'));
    const subject = subjectFromJson(written[i + 1]);
    const runs = runsFromJson(written[i + 2]);
    for (let j = 1; runs !== undefined && j < runs.length; j += 2) counted += runs[j] as number;
    if (limit instanceof Error) keys.push(limit);
    else {
      checkEligible(limit);
      known.add(`${limit.keySuffix} ${subject}`);
      keys.push({ limit, subject, runs });
    }
  }
  const sent = keys.filter((key) => !(key instanceof Error));
  if (known.size < sent.length) throw new FrameError('a batch has each key once');
  if (counted > MOST_COUNTED) throw new FrameError(`a batch counts at most ${String(MOST_COUNTED)} requests together`);
  return { leftMs: optionalNumber(written[0], 'the time left', 1, LONGEST_TIMER_MS), keys };
}

function runsFromJson(given: unknown): readonly number[] | undefined {
  if (given === 0) return undefined;
  const runs = listOf(given, 'runs', 2, 2 * MOST_KEYS).map((item) => wholeNumber(item, 'a run', 1));
  if (runs.length % 2 !== 0) throw new FrameError('runs are pairs of a cost and a count');
  return runs;
}

function checkEligible(limit: CoalescedRequests['limit']): void {
  if (limit.fastPathEligible === true) return;
  throw new FrameError('a limit with escalation, versions or long states cannot be decided in a batch');
}

/**
 * The keys as the store found them, each with the instant at which it was decided where they have several.
 *
 * @param limits - Per key its limit.
 */
export function batchAnswerToJson(requests: readonly CoalescedRequests[], answer: BatchAnswer): readonly unknown[] {
  const { atMs, instants, keys } = answer;
  const written: unknown[] = [atMs];
  for (let i = 0; i < keys.length; i++) {
    const key = keys[i] as KeyState | Error;
    const ownMs = instants?.[i] ?? atMs;
    if (key instanceof Error) written.push(failureToJson(key));
    else {
      const text = writeValue((requests[i] as CoalescedRequests).limit, key, ownMs);
      written.push(ownMs === atMs ? text : [ownMs, text]);
    }
  }
  return written;
}

/**
 * Reads what {@link batchAnswerToJson} wrote.
 *
 * @throws StoreError `SLUICE_STORE_REPLY_INVALID` for anything else.
 */
export function batchAnswerFromJson(given: unknown, requests: readonly CoalescedRequests[]): BatchAnswer {
  if (!Array.isArray(given) || given.length !== requests.length + 1) {
    throw strangeAnswer(`${String(requests.length)} keys`, given);
  }
  const [first, ...written] = given as readonly unknown[];
  const atMs = instant(first);
  let instants: number[] | undefined;
  const keys = written.map((item, i): KeyState | Error => {
    const { limit } = requests[i] as CoalescedRequests;
    if (typeof item === 'string') return keyFromText(item, limit);
    if (!Array.isArray(item)) return failureFromJson(item) ?? strangeAnswer('a key', item);
    const [ownMs, text] = item as readonly unknown[];
    instants ??= requests.map(() => atMs);
    instants[i] = instant(ownMs);
    return typeof text === 'string' ? keyFromText(text, limit) : strangeAnswer('a key', text);
  });
  return instants === undefined ? { atMs, keys } : { atMs, keys, instants };
}

function keyFromText(text: string, limit: CoalescedRequests['limit']): KeyState | Error {
  const key = readValue(text === '' ? null : text, '', limit);
  if (!(key instanceof Error)) return key;
  return new StoreError('SLUICE_STORE_REPLY_INVALID', 'the server answered with a state that this release cannot read');
}
