import { StoreError, kindOf, shown } from '../../errors.ts';
import { evaluate } from '../../engine/evaluate.ts';
import { healedKeys } from '../../engine/heal-state.ts';
import {
  partsOf,
  withSnapshots,
  type DecidingRequest,
  type Limit,
  type Part,
  type StoreAnswer,
  type StoreAnswers,
  type StoreRequest,
  type KeyState,
} from '../../engine/store.ts';
import { digitsOf } from '../../algorithms/instant-and-field.ts';
import { failureOf } from './failure.ts';
import { readValue, textOf, withStates, writeValue, type Undecoded } from './value.ts';
import type { Call } from './write-call.ts';

/**
 * Reads the reply of the general script: the instant, and every value before the call. The kernels decide the
 * requests again from these.
 *
 * @param atMs - Its instant: see {@link instantOf}.
 * @param behindMs - The clock has stepped back where it shows less: see `ServerClock`.
 * @throws StoreError when the reply is not one of general.lua, or (checking) differs from the kernels' decisions.
 */
export function readReply(
  reply: unknown,
  atMs: number | undefined,
  call: Call,
  showsDenied: boolean,
  behindMs = 0,
): StoreAnswers {
  const [, ...values] = Array.isArray(reply) ? (reply as unknown[]) : [];
  if (atMs === undefined || values.length !== call.keys.length + (call.checking ? 1 : 0) || !values.every(isValue)) {
    throw new StoreError(
      'SLUICE_STORE_REPLY_INVALID',
      `the script returned ${shown(reply)} instead of an instant and ${String(call.keys.length)} values`,
    );
  }
  for (const value of values) throwIfDenied(value);
  const before = call.keys.map((key, i) => readValue(values[i], key, call.limits[i] as Limit));
  /** Per key that was written, the limit that wrote it last. */
  const changed = new Map<number, Limit>();
  let allowed = '';
  const answers = call.requests.map((request, i): StoreAnswer | Error => {
    const keyIndexes = call.keyIndexes[i] as readonly number[];
    const keys: KeyState[] = [];
    for (let j = 0; j < keyIndexes.length; j++) {
      const index = keyIndexes[j] as number;
      const key = call.hasPolicyVersions ? decoded(before, index, partsOf(request)[j] as Part, call) : before[index];
      if (key === undefined || key instanceof Error) {
        allowed += '0';
        return key as StoreError;
      }
      keys.push(key);
    }
    const evaluation = evaluate(request, keys, atMs);
    if (call.checking) {
      const parts = partsOf(request);
      keyIndexes.forEach((index, j) => {
        if (evaluation.changed || (keys[j] as KeyState).touched === true) changed.set(index, (parts[j] as Part).limit);
      });
    }
    if (call.hasPolicyVersions || call.checking) for (const key of keys) key.touched = false;
    const isDenied = !isAllowed(request, evaluation.answer);
    allowed += isDenied ? '0' : '1';
    const cut = isDenied && atMs < behindMs && 'parts' in request ? deniedOnceHealed(request, keys, atMs) : undefined;
    if (cut !== undefined) return cut;
    return showsDenied ? withSnapshots(evaluation.answer, keys) : evaluation.answer;
  });
  if (call.checking) compare(values, before, changed, allowed, atMs, call);
  return answers;
}

/**
 * The answer to a denied request, by the states as `heal` will have cut them by the next one. Undefined where nothing is
 * cut, and where the request would be allowed then.
 */
function deniedOnceHealed(request: DecidingRequest, keys: readonly KeyState[], atMs: number): StoreAnswer | undefined {
  const healed = healedKeys(request.parts, keys, atMs);
  if (healed === undefined) return undefined;
  const { answer } = evaluate({ ...request, op: 'peek' }, healed, atMs);
  return isAllowed(request, answer) ? undefined : answer;
}

/** The instant of a reply: its first line or item. Clients may return strings or bigints for numbers, buffers for texts. */
export function instantOf(reply: unknown): number | undefined {
  const first: unknown = Array.isArray(reply) ? reply[0] : reply;
  const text = first instanceof Uint8Array ? textOf(first) : first;
  let atMs = typeof text === 'number' || typeof text === 'bigint' ? Number(text) : 0;
  if (typeof text === 'string') {
    const ending = text.indexOf('\n');
    atMs = digitsOf(text, 0, ending === -1 && Array.isArray(reply) ? text.length : ending);
  }
  return Number.isSafeInteger(atMs) && atMs > 0 ? atMs : undefined;
}

/**
 * A value before the call, nothing, or (in an array) why it cannot be read; when checking, the last one is also an
 * array.
 */
function isValue(value: unknown): boolean {
  const given = value ?? '';
  return typeof given === 'string' || Array.isArray(given) || given instanceof Uint8Array;
}

/** A missing permission to run a command concerns all keys, not one. */
export function throwIfDenied(value: unknown): void {
  if (!Array.isArray(value) || typeof value[0] !== 'string') return;
  const failure = failureOf(new Error(value[0]));
  if (kindOf(failure) === 'denied') throw failure;
}

export function isAllowed(request: StoreRequest, { parts }: StoreAnswer): boolean {
  return (
    request.op === 'consume' &&
    parts.length > 0 &&
    parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed))
  );
}

/** The key in `before[index]`, its states decoded as this part's limit reads them. */
function decoded(
  before: (Undecoded | StoreError)[],
  index: number,
  { limit }: Part,
  call: Call,
): KeyState | StoreError {
  const key = before[index] as Undecoded | StoreError;
  if (key instanceof Error) return key;
  return (before[index] = withStates(key, limit, call.keys[index] as string));
}

function compare(
  values: readonly unknown[],
  states: readonly (KeyState | Error)[],
  changed: ReadonlyMap<number, Limit>,
  allowed: string,
  atMs: number,
  call: Call,
): void {
  const [allowedThere, ...after] = values[call.keys.length] as unknown[];
  if (String(allowedThere) === 'repeated') return; // kernels know no identities
  const expected = states.map((state, i) => {
    const limit = changed.get(i);
    return state instanceof Error || limit === undefined ? values[i] : writeValue(limit, state, atMs);
  });
  const asText = (value: unknown): string => (Array.isArray(value) ? 'unreadable' : textOf(value ?? ''));
  const same = asText(allowedThere) === allowed && expected.every((value, i) => asText(value) === asText(after[i]));
  if (!same) {
    throw twinsDisagree(atMs, [allowed, asText(allowedThere)], [expected, after], values.slice(0, -1), call.args);
  }
}

/** The error that shows how kernels (first) and script differ, and from which values. */
export function twinsDisagree(
  atMs: number,
  allowed: readonly [string, string],
  after: readonly [unknown, unknown],
  before: readonly unknown[],
  args: readonly string[],
): StoreError {
  return new StoreError(
    'SLUICE_TWINS_DISAGREE',
    `kernel and script differ at ${String(atMs)}: allowed ${allowed.join(' and ')}, values ${after.map((values) => JSON.stringify(values)).join(' and ')}, from ${JSON.stringify(before)} with ${JSON.stringify(args)}`,
  );
}
