import { StoreError, shown } from '../../errors.ts';
import { evaluate, type KeyState } from '../evaluate.ts';
import type { KeyRuns, RunsAnswer } from '../runs.ts';
import { isAdmitted, instantOf, isValue, throwIfDenied, twinsDisagree } from './read-reply.ts';
import { readValue, textOf, writeValue } from './value.ts';
import type { RunsCall } from './write-runs.ts';

/**
 * Reads the reply of frame/runs.lua: the instant, and every value as it was before.
 *
 * @throws StoreError when the reply is none of its, or (checking) differs from what the kernels say.
 */
export function readRuns(reply: unknown, call: RunsCall, asked: readonly KeyRuns[], checking: boolean): RunsAnswer {
  const values = Array.isArray(reply) ? (reply as unknown[]) : [];
  const atMs = instantOf(values[0]);
  const count = call.keys.length;
  if (atMs === undefined || values.length !== count + (checking ? 2 : 1)) throw strange(reply, count);
  const keys = new Array<KeyState | Error>(count);
  for (let i = 0; i < count; i++) {
    const value = values[i + 1];
    if (!isValue(value)) throw strange(reply, count);
    throwIfDenied(value);
    const place = call.places[i] as number;
    keys[place] = readValue(value, call.keys[i] as string, (asked[place] as KeyRuns).limit);
  }
  if (checking) compare(values, call, asked, keys, atMs);
  return { atMs, keys };
}

function strange(reply: unknown, count: number): StoreError {
  return new StoreError(
    'SLUICE_STORE_REPLY_INVALID',
    `the script answered ${shown(reply)} instead of an instant and ${String(count)} values`,
  );
}

/** Decides all of it once more, and compares what was admitted and what was written. */
function compare(
  values: readonly unknown[],
  call: RunsCall,
  asked: readonly KeyRuns[],
  keys: readonly (KeyState | Error)[],
  atMs: number,
): void {
  const [admittedThere, after] = values[call.keys.length + 1] as [unknown, readonly unknown[]];
  const admitted: number[] = [];
  const expected = call.places.map((place, i) => {
    const key = keys[place] as KeyState | Error;
    if (key instanceof Error) return values[i + 1];
    const { limit, subject, runs = [1, 1] } = asked[place] as KeyRuns;
    const held = { ...key };
    let changed = false;
    for (let j = 0; j < runs.length; j += 2) {
      const request = { op: 'consume', parts: [{ limit, subject, cost: runs[j] as number }] } as const;
      let fitting = 0;
      while (fitting < (runs[j + 1] as number) && isAdmitted(request, evaluate(request, [held], atMs).answer))
        fitting++;
      changed ||= fitting > 0;
      admitted.push(fitting);
    }
    return changed ? writeValue(limit, held, atMs) : values[i + 1];
  });
  const asText = (value: unknown): string => (Array.isArray(value) ? 'unreadable' : textOf(value ?? ''));
  const same =
    asText(admittedThere) === admitted.join(',') && expected.every((value, i) => asText(value) === asText(after[i]));
  if (!same)
    throw twinsDisagree(atMs, [admitted.join(','), asText(admittedThere)], [expected, after], values, call.args);
}
