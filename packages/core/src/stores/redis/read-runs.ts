import { StoreError, shown } from '../../errors.ts';
import { evaluate, type KeyState } from '../evaluate.ts';
import type { KeyRuns, RunsAnswer } from '../runs.ts';
import type { Limit } from '../store.ts';
import { instantOf, isAdmitted, throwIfDenied, twinsDisagree } from './read-reply.ts';
import { readValue, textOf, writeValue } from './value.ts';
import type { RunsCall } from './write-runs.ts';

/**
 * Reads the reply of frame/runs.lua: the instant, and every value as it was before.
 *
 * @throws StoreError when the reply is none of its, or (checking) differs from what the kernels say.
 */
export function readRuns(reply: unknown, call: RunsCall, asked: readonly KeyRuns[], checking: boolean): RunsAnswer {
  const [instant, lines, checked] = Array.isArray(reply) ? (reply as unknown[]) : [];
  const atMs = instantOf(instant);
  if (atMs === undefined || !(typeof lines === 'string' || lines instanceof Uint8Array)) throw strange(reply);
  const text = textOf(lines);
  const keys = new Array<KeyState | Error>(asked.length);
  let from = 0;
  for (let i = 0; i < asked.length; i++) {
    const ending = i === asked.length - 1 ? text.length : text.indexOf('\n', from);
    if (ending < from) throw strange(reply);
    const value = text.slice(from, ending);
    from = ending + 1;
    const place = call.places[i] as number;
    keys[place] = readLine(value, call.keys[i] as string, (asked[place] as KeyRuns).limit);
  }
  if (checking) compare(text.split('\n'), checked as readonly unknown[], call, asked, keys, atMs);
  return { atMs, keys };
}

function readLine(line: string, key: string, limit: Limit): KeyState | Error {
  if (!line.startsWith('-')) return readValue(line === '' ? null : line, key, limit);
  const failure = [line.slice(1)];
  throwIfDenied(failure);
  return readValue(failure, key, limit);
}

function strange(reply: unknown): StoreError {
  return new StoreError(
    'SLUICE_STORE_REPLY_INVALID',
    `the script answered ${shown(reply)} instead of an instant and a line per key`,
  );
}

/** Decides all of it once more, and compares what was admitted and what was written. */
function compare(
  values: readonly string[],
  [admittedThere, after]: readonly unknown[],
  call: RunsCall,
  asked: readonly KeyRuns[],
  keys: readonly (KeyState | Error)[],
  atMs: number,
): void {
  const admitted: number[] = [];
  const expected = call.places.map((place, i) => {
    const key = keys[place] as KeyState | Error;
    const { limit, subject, runs = [1, 1] } = asked[place] as KeyRuns;
    if (key instanceof Error) {
      // What costs more than the limit, and what is blocked, is refused there before the states are read.
      if (values[i]?.startsWith('-') !== true) for (let j = 0; j < runs.length; j += 2) admitted.push(0);
      return values[i];
    }
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
    return changed ? writeValue(limit, held, atMs) : values[i];
  });
  const same =
    textOf(admittedThere) === admitted.join(',') &&
    expected.every((value, i) => value === textOf((after as unknown[])[i]));
  if (!same)
    throw twinsDisagree(atMs, [admitted.join(','), textOf(admittedThere)], [expected, after], values, call.args);
}
