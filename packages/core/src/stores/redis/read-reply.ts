import { StoreError, kindOf, shown } from '../../errors.ts';
import { evaluate, type KeyState } from '../evaluate.ts';
import { showing } from '../shown-key.ts';
import type { EarlierEdition, Limit, Part, StoreAnswer, StoreAnswers, StoreRequest } from '../store.ts';
import { failureOf } from './failure.ts';
import { UNKNOWN, foreign, readStates, readValue, textOf, writeValue, type Undecoded } from './value.ts';
import { partsOf, type Call } from './write-call.ts';

/**
 * Reads the script's reply: the instant and every value as it was before. The requests are decided over again, by the
 * kernels, from there.
 *
 * @throws StoreError when the reply is none of frame.lua's, or (checking) differs from what the kernels say.
 */
export function readReply(reply: unknown, call: Call, showsRefused: boolean): StoreAnswers {
  const [instant, ...values] = Array.isArray(reply) ? (reply as unknown[]) : [];
  const atMs = instantOf(instant);
  if (atMs === undefined || values.length !== call.keys.length + (call.checking ? 1 : 0) || !values.every(isValue)) {
    throw new StoreError(
      'SLUICE_STORE_REPLY_INVALID',
      `the script answered ${shown(reply)} instead of an instant and ${String(call.keys.length)} values`,
    );
  }
  for (const value of values) throwIfDenied(value);
  const before = call.keys.map((key, i) => readValue(values[i], key, call.limits[i] as Limit));
  /** Per key that was written, the limit that wrote it last. */
  const changed = new Map<number, Limit>();
  let admitted = '';
  const answers = call.requests.map((request, i): StoreAnswer | Error => {
    const places = call.places[i] as readonly number[];
    const keys: KeyState[] = [];
    for (let j = 0; j < places.length; j++) {
      const place = places[j] as number;
      const key = call.hasEditions ? decoded(before, place, partsOf(request)[j] as Part, call) : before[place];
      if (key === undefined || key instanceof Error) {
        admitted += '0';
        return key as StoreError;
      }
      keys.push(key);
    }
    const evaluation = evaluate(request, keys, atMs);
    if (call.checking) {
      const parts = partsOf(request);
      places.forEach((place, j) => {
        if (evaluation.changed || (keys[j] as KeyState).touched === true) changed.set(place, (parts[j] as Part).limit);
      });
    }
    if (call.hasEditions || call.checking) for (const key of keys) key.touched = false;
    admitted += isAdmitted(request, evaluation.answer) ? '1' : '0';
    return showsRefused ? showing(evaluation.answer, keys) : evaluation.answer;
  });
  if (call.checking) compare(values, before, changed, admitted, atMs, call);
  return answers;
}

/** Some clients answer with strings or bigints, where they are told to. */
export function instantOf(instant: unknown): number | undefined {
  const isNumber = typeof instant === 'number' || typeof instant === 'bigint';
  const isText = typeof instant === 'string' && /^\d+$/.test(instant);
  const atMs = isNumber || isText ? Number(instant) : Number.NaN;
  return Number.isSafeInteger(atMs) && atMs > 0 ? atMs : undefined;
}

/** A value as it was, nothing, or (in an array) why it cannot be read; the last one, when checking, is an array as well. */
function isValue(value: unknown): boolean {
  return (
    typeof value === 'string' ||
    value === null ||
    value === undefined ||
    Array.isArray(value) ||
    value instanceof Uint8Array
  );
}

/** A command that this user may not run concerns no key, but all of them. */
export function throwIfDenied(value: unknown): void {
  if (!Array.isArray(value) || typeof value[0] !== 'string') return;
  const failure = failureOf(new Error(value[0]));
  if (kindOf(failure) === 'denied') throw failure;
}

export function isAdmitted(request: StoreRequest, { parts }: StoreAnswer): boolean {
  return (
    request.op === 'consume' &&
    parts.length > 0 &&
    parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed))
  );
}

/** The key in `before[place]`, its states decoded by the edition that wrote them, where this part's limit knows it. */
function decoded(
  before: (Undecoded | StoreError)[],
  place: number,
  { limit }: Part,
  call: Call,
): KeyState | StoreError {
  const key = before[place] as Undecoded | StoreError;
  if (key instanceof Error || limit.edition === undefined || key.states[0] !== UNKNOWN) return key;
  const { version, earlier } = limit.edition;
  const wrote = key.version === version ? limit : earlier.get(key.version as number);
  if (wrote === undefined || wrote === 'unknown') return key;
  if (wrote !== limit && (wrote as EarlierEdition).carryOver === 'reset') return key; // nothing of it is read
  const states = readStates(key.text ?? '', wrote.policies);
  if (typeof states === 'string') return (before[place] = foreign(call.keys[place] as string, states));
  key.states = states;
  return key;
}

function compare(
  values: readonly unknown[],
  states: readonly (KeyState | Error)[],
  changed: ReadonlyMap<number, Limit>,
  admitted: string,
  atMs: number,
  call: Call,
): void {
  const [admittedThere, ...after] = values[call.keys.length] as unknown[];
  const expected = states.map((state, i) => {
    const limit = changed.get(i);
    return state instanceof Error || limit === undefined ? values[i] : writeValue(limit, state, atMs);
  });
  const asText = (value: unknown): string => (Array.isArray(value) ? 'unreadable' : textOf(value ?? ''));
  const same = asText(admittedThere) === admitted && expected.every((value, i) => asText(value) === asText(after[i]));
  if (!same) {
    throw twinsDisagree(atMs, [admitted, asText(admittedThere)], [expected, after], values.slice(0, -1), call.args);
  }
}

/** The error that says how kernels (first) and script differ, and over what. */
export function twinsDisagree(
  atMs: number,
  admitted: readonly [string, string],
  after: readonly [unknown, unknown],
  before: readonly unknown[],
  args: readonly string[],
): StoreError {
  return new StoreError(
    'SLUICE_TWINS_DISAGREE',
    `kernel and script differ at ${String(atMs)}: admitted ${admitted.join(' and ')}, values ${after.map((values) => JSON.stringify(values)).join(' and ')}, from ${JSON.stringify(before)} with ${JSON.stringify(args)}`,
  );
}
