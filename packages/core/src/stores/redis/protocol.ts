import { StoreError, kindOf, shown } from '../../errors.ts';
import { toInteger } from '../../algorithms/instant-and-field.ts';
import type { NamedPolicy } from '../../policy.ts';
import { evaluate, type KeyState } from '../evaluate.ts';
import { failureOf } from './failure.ts';
import type { Limit, Part, StoreAnswer, StoreAnswers, StoreRequest } from '../store.ts';

/** One script call: what goes out, and what is needed to read what comes back. */
export interface Call {
  readonly keys: readonly string[];
  readonly args: readonly string[];
  readonly requests: readonly StoreRequest[];
  /** Per request and part, the place of its key in `keys`. */
  readonly places: readonly (readonly number[])[];
  /** Per key, a limit that lives under it: its schema is part of the key, so any will do to read the value. */
  readonly limits: readonly Limit[];
  readonly checking: boolean;
}

/** Writes requests as frame.lua reads them. */
export function writeCall(requests: readonly StoreRequest[], prefix: string, checking: boolean): Call {
  const keys: string[] = [];
  const limits: Limit[] = [];
  const places: number[][] = [];
  const placeOfKey = new Map<string, number>();
  const placeOfPlan = new Map<Limit, number>();
  const plans: string[] = [];
  const tasks: string[] = [];
  const needed = new Set<string>(checking ? ['C'] : []);

  const keyPlace = ({ subject, limit }: Part): number => {
    const key = `${prefix}:{${subject}}${limit.scope}`;
    let place = placeOfKey.get(key);
    if (place === undefined) {
      place = keys.push(key) - 1;
      limits.push(limit);
      placeOfKey.set(key, place);
    }
    return place;
  };
  const planPlace = (limit: Limit): number => {
    let place = placeOfPlan.get(limit);
    if (place === undefined) {
      place = placeOfPlan.size + 1;
      placeOfPlan.set(limit, place);
      plans.push(String(limit.policies.length), String(keptMs(limit)));
      for (const { algorithm, policy } of limit.policies) {
        needed.add(algorithm.kind);
        plans.push(algorithm.kind, ...algorithm.numbers(policy).map(String));
      }
    }
    return place;
  };

  for (const request of requests) {
    const parts = partsOf(request);
    const own = parts.map(keyPlace);
    if (request.op !== 'consume' && request.op !== 'peek') needed.add('E');
    places.push(own);
    const args: string[] = [];
    parts.forEach((part, i) => {
      args.push(String((own[i] ?? 0) + 1), String(planPlace(part.limit)));
      if (request.op === 'consume' || request.op === 'refund') args.push(String(part.cost));
      if (request.op === 'refund') args.push(...request.chargedUntilMs.map(String));
      if (request.op === 'block') args.push(String(request.durationMs));
    });
    tasks.push(request.op, String(args.length), ...args);
  }

  const args = [[...needed].join(''), String(placeOfPlan.size), String(requests.length), ...plans, ...tasks];
  return { keys, args, requests, places, limits, checking };
}

/**
 * Reads the script's reply: the instant and every value as it was before. The requests are decided over again, by the
 * kernels, from there.
 *
 * @throws StoreError when the reply is none of frame.lua's, or (checking) differs from what the kernels say.
 */
export function readReply(reply: unknown, call: Call): StoreAnswers {
  const [instant, ...values] = Array.isArray(reply) ? (reply as unknown[]) : [];
  const atMs = instantOf(instant);
  if (atMs === undefined || values.length !== call.keys.length + (call.checking ? 1 : 0) || !values.every(isValue)) {
    throw new StoreError(
      'SLUICE_STORE_REPLY_INVALID',
      `the script answered ${shown(reply)} instead of an instant and ${String(call.keys.length)} values`,
    );
  }
  for (const value of values) throwIfDenied(value);
  const before = call.keys.map((key, i) => readValue(values[i], key, (call.limits[i] as Limit).policies));
  const changed = new Set<number>();
  let admitted = '';
  const answers = call.requests.map((request, i): StoreAnswer | Error => {
    const places = call.places[i] as readonly number[];
    const keys: KeyState[] = [];
    for (const place of places) {
      const key = before[place] as KeyState | Error;
      if (key instanceof Error) {
        admitted += '0';
        return key;
      }
      keys.push(key);
    }
    const evaluation = evaluate(request, keys, atMs);
    if (evaluation.changed) for (const place of places) changed.add(place);
    admitted += isAdmitted(request, evaluation.answer) ? '1' : '0';
    return evaluation.answer;
  });
  if (call.checking) compare(values, before, changed, admitted, atMs, call);
  return answers;
}

/** Some clients answer with strings or bigints, where they are told to. */
function instantOf(instant: unknown): number | undefined {
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
function throwIfDenied(value: unknown): void {
  if (!Array.isArray(value) || typeof value[0] !== 'string') return;
  const failure = failureOf(new Error(value[0]));
  if (kindOf(failure) === 'denied') throw failure;
}

/** How long a key is kept that is over, so that a server's clock that steps back finds what it left: a window, a minute at most. */
function keptMs({ policies }: Limit): number {
  return Math.min(Math.max(...policies.map(({ windowMs }) => windowMs)), 60_000);
}

export function partsOf(request: StoreRequest): readonly Part[] {
  return 'parts' in request ? request.parts : [request.part];
}

function isAdmitted(request: StoreRequest, { parts }: StoreAnswer): boolean {
  return (
    request.op === 'consume' &&
    parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed))
  );
}

/** Decodes `[!<blocked until>!]<state> <state>...`, or says why that cannot be done. */
export function readValue(value: unknown, key: string, policies: readonly NamedPolicy[]): KeyState | StoreError {
  if (value === null || value === undefined) return { blockedUntilMs: 0, states: policies.map(() => undefined) };
  if (Array.isArray(value)) return foreign(key, String(value[0]));
  let text = textOf(value);
  let blockedUntilMs = 0;
  if (text.startsWith('!')) {
    const ending = text.indexOf('!', 1);
    const instant = toInteger(text.slice(1, ending));
    if (instant === undefined) return foreign(key, 'it holds no instant between its "!"');
    blockedUntilMs = instant;
    text = text.slice(ending + 1);
  }
  const texts = policies.length === 1 || text === '' ? [text] : text.split(' ');
  if (text !== '' && texts.length !== policies.length) return foreign(key, 'it holds states of more or fewer policies');
  const states: unknown[] = [];
  for (let j = 0; j < policies.length; j++) {
    const stored = texts[j] ?? '';
    const state = stored === '' ? undefined : policies[j]?.algorithm.decode(stored);
    if (stored !== '' && state === undefined) return foreign(key, 'it holds something else than this policy writes');
    states.push(state);
  }
  return { blockedUntilMs, states };
}

/** Some clients answer with buffers. */
function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : (value as string);
}

/** The key itself may name a client: the message says where to look without it. */
function foreign(key: string, why: string): StoreError {
  const shape = key.replace(/\{.*\}/, '{...}');
  return new StoreError(
    'SLUICE_STORE_KEY_FOREIGN',
    `a key of the form ${shape} cannot be read: ${why}; delete it, or give the store a prefix of its own`,
  );
}

/** The value that frame.lua writes for these states. */
export function writeValue({ policies }: Limit, { blockedUntilMs, states }: KeyState, nowMs: number): string {
  const text = states.every((state) => state === undefined)
    ? ''
    : policies.map(({ algorithm }, j) => (states[j] === undefined ? '' : algorithm.encode(states[j]))).join(' ');
  return blockedUntilMs > nowMs ? `!${String(blockedUntilMs)}!${text}` : text;
}

function compare(
  values: readonly unknown[],
  states: readonly (KeyState | Error)[],
  changed: ReadonlySet<number>,
  admitted: string,
  atMs: number,
  call: Call,
): void {
  const [admittedThere, ...after] = values[call.keys.length] as unknown[];
  const expected = states.map((state, i) =>
    state instanceof Error || !changed.has(i) ? values[i] : writeValue(call.limits[i] as Limit, state, atMs),
  );
  const asText = (value: unknown): string => (Array.isArray(value) ? 'unreadable' : textOf(value ?? ''));
  const same = asText(admittedThere) === admitted && expected.every((value, i) => asText(value) === asText(after[i]));
  if (!same) {
    throw new StoreError(
      'SLUICE_TWINS_DISAGREE',
      `kernel and script differ at ${String(atMs)}: admitted ${admitted} and ${asText(admittedThere)}, values ${JSON.stringify(expected)} and ${JSON.stringify(after)}, from ${JSON.stringify(values.slice(0, -1))} with ${JSON.stringify(call.args)}`,
    );
  }
}
