import { StoreError, shown } from '../../errors.ts';
import { evaluate } from '../../engine/evaluate.ts';
import type { CoalescedRequests, BatchAnswer } from '../../engine/batch-store.ts';
import type { KeyState } from '../../engine/store.ts';
import { isAllowed, throwIfDenied, twinsDisagree } from './read-reply.ts';
import { readValue, textOf, writeValue } from './value.ts';
import type { BatchCall } from './write-batch.ts';

/**
 * Reads the reply of lua/batch.lua: lines with the instant, and every value before the call.
 *
 * @param atMs - Its instant: see `instantOf`.
 * @param behindMs - The clock has stepped back where it shows less: see `ServerClock`.
 * @throws StoreError when the reply is not one of that script, or (checking) differs from the kernels' decisions.
 */
export function readBatch(
  reply: unknown,
  atMs: number | undefined,
  call: BatchCall,
  requests: readonly CoalescedRequests[],
  checking: boolean,
  behindMs = 0,
): BatchAnswer {
  const [lines, checked] = checking && Array.isArray(reply) ? (reply as unknown[]) : [reply];
  const text = lines instanceof Uint8Array ? textOf(lines) : lines;
  if (atMs === undefined || typeof text !== 'string') throw strange(reply);
  const keys = new Array<KeyState | Error>(requests.length);
  const start = text.indexOf('\n') + 1;
  let from = start;
  for (let i = 0; i < requests.length; i++) {
    const ending = i === requests.length - 1 ? text.length : text.indexOf('\n', from);
    if (ending < from) throw strange(reply);
    const value = text.slice(from, ending);
    from = ending + 1;
    const index = call.indexes[i] as number;
    const { limit } = requests[index] as CoalescedRequests;
    const read = value.charCodeAt(0) === 45 /* - */ ? failed(value) : value === '' ? null : value;
    keys[index] = readValue(read, call.keys[i] as string, limit);
  }
  if (checking) compare(text.slice(start).split('\n'), checked as readonly unknown[], call, requests, keys, atMs);
  if (atMs < behindMs) for (const key of keys) if (!(key instanceof Error)) key.isAhead = true;
  return { atMs, keys };
}

/** Why a value could not be read, as the general script writes it. */
function failed(line: string): readonly string[] {
  const failure = [line.slice(1)];
  throwIfDenied(failure);
  return failure;
}

function strange(reply: unknown): StoreError {
  return new StoreError(
    'SLUICE_STORE_REPLY_INVALID',
    `the script returned ${shown(reply)} instead of lines with an instant and a value per key`,
  );
}

/** Decides all requests again, and compares how many are allowed and what is written. */
function compare(
  values: readonly string[],
  [allowedThere, after]: readonly unknown[],
  call: BatchCall,
  requests: readonly CoalescedRequests[],
  keys: readonly (KeyState | Error)[],
  atMs: number,
): void {
  const allowed: number[] = [];
  const expected = call.indexes.map((index, i) => {
    const key = keys[index] as KeyState | Error;
    const { limit, subject, runs = [1, 1] } = requests[index] as CoalescedRequests;
    if (key instanceof Error) {
      // The script denies a cost above the limit, and a blocked key, before it reads the states.
      if (values[i]?.startsWith('-') !== true) for (let j = 0; j < runs.length; j += 2) allowed.push(0);
      return values[i];
    }
    const held = { ...key };
    let changed = false;
    for (let j = 0; j < runs.length; j += 2) {
      const request = { op: 'consume', parts: [{ limit, subject, cost: runs[j] as number }] } as const;
      let fitting = 0;
      while (fitting < (runs[j + 1] as number) && isAllowed(request, evaluate(request, [held], atMs).answer)) fitting++;
      changed ||= fitting > 0;
      allowed.push(fitting);
    }
    return changed ? writeValue(limit, held, atMs) : values[i];
  });
  const same =
    textOf(allowedThere) === allowed.join(',') &&
    expected.every((value, i) => value === textOf((after as unknown[])[i]));
  if (!same) throw twinsDisagree(atMs, [allowed.join(','), textOf(allowedThere)], [expected, after], values, call.args);
}
