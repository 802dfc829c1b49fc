import { StoreError, kindOf, shown } from '../../errors.ts';
import { toInteger } from '../../algorithms/instant-and-field.ts';
import type { NamedPolicy } from '../../policy.ts';
import { evaluate, type KeyState } from '../evaluate.ts';
import { failureOf } from './failure.ts';
import type { CarryOver, EarlierEdition, Limit, Part, StoreAnswer, StoreAnswers, StoreRequest } from '../store.ts';

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

  const hasEditions = requests.some((request) => partsOf(request).some(({ limit }) => limit.edition !== undefined));
  if (hasEditions) needed.add('V');
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
      if (hasEditions) plans.push(...writeEdition(limit, needed));
      for (const named of limit.policies) plans.push(...writePolicy(named, needed));
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

function writePolicy({ algorithm, policy }: NamedPolicy, needed: Set<string>): readonly string[] {
  needed.add(algorithm.kind);
  return [algorithm.kind, ...algorithm.numbers(policy).map(String)];
}

const CARRY_OVER: Readonly<Record<Exclude<CarryOver, 'reset'>, string>> = { keep: 'k', proportional: 'p' };

/** Only limits of a single policy have editions in Redis: managed ones. */
function writeEdition({ edition }: Limit, needed: Set<string>): readonly string[] {
  if (edition === undefined) return ['0'];
  const written = [String(edition.version), String(edition.earlier.size)];
  for (const [version, earlier] of edition.earlier) {
    written.push(String(version));
    if (earlier === 'unknown') written.push('u');
    else if (earlier.carryOver === 'reset') written.push('r');
    else written.push(CARRY_OVER[earlier.carryOver], ...writePolicy(earlier.policies[0] as NamedPolicy, needed));
  }
  return written;
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
  const before = call.keys.map((key, i) => readValue(values[i], key, call.limits[i] as Limit));
  /** Per key that was written, the limit that wrote it last. */
  const changed = new Map<number, Limit>();
  let admitted = '';
  const answers = call.requests.map((request, i): StoreAnswer | Error => {
    const places = call.places[i] as readonly number[];
    const parts = partsOf(request);
    const keys: KeyState[] = [];
    for (const [j, place] of places.entries()) {
      const key = decoded(before, place, parts[j] as Part, call);
      if (key instanceof Error) {
        admitted += '0';
        return key;
      }
      keys.push(key);
    }
    const evaluation = evaluate(request, keys, atMs);
    for (const [j, place] of places.entries()) {
      const key = before[place] as KeyState;
      if (evaluation.changed || key.carried === true) changed.set(place, (parts[j] as Part).limit);
      key.carried = false;
    }
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
    parts.length > 0 &&
    parts.every(({ blocked, policies }) => !blocked && policies.every(({ allowed }) => allowed))
  );
}

/** A key's states as they stand in Redis, where it takes an edition to decode them. */
interface Undecoded extends KeyState {
  readonly text?: string;
}

/** What stands for a state that is not decoded: its edition is not known here. */
const UNKNOWN = Symbol('a state of another edition');

/**
 * Decodes `[!<blocked until>!]<state> <state>...`, or says why that cannot be done. What begins with `<version>;` is
 * decoded where an edition of its limit is known that can.
 */
export function readValue(
  value: unknown,
  key: string,
  { policies, edition }: Pick<Limit, 'policies' | 'edition'>,
): Undecoded | StoreError {
  if (value === null || value === undefined) {
    return { blockedUntilMs: 0, states: policies.map(() => undefined) };
  }
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
  if (edition === undefined || text === '') {
    const states = readStates(text, policies);
    return typeof states === 'string' ? foreign(key, states) : { blockedUntilMs, states };
  }
  const ending = text.indexOf(';');
  const version = ending === -1 ? undefined : toInteger(text.slice(0, ending));
  if (version === undefined || ending === text.length - 1)
    return foreign(key, 'it does not say which edition wrote it');
  return { blockedUntilMs, states: policies.map(() => UNKNOWN), version, text: text.slice(ending + 1) };
}

/** The states in a text of several, or what is wrong with it. */
function readStates(text: string, policies: readonly NamedPolicy[]): readonly unknown[] | string {
  const texts = policies.length === 1 || text === '' ? [text] : text.split(' ');
  if (text !== '' && texts.length !== policies.length) return 'it holds states of more or fewer policies';
  const states: unknown[] = [];
  for (let j = 0; j < policies.length; j++) {
    const stored = texts[j] ?? '';
    const state = stored === '' ? undefined : policies[j]?.algorithm.decode(stored);
    if (stored !== '' && state === undefined) return 'it holds something else than this policy writes';
    states.push(state);
  }
  return states;
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
export function writeValue(
  { policies, edition }: Limit,
  { blockedUntilMs, states, version }: KeyState,
  nowMs: number,
): string {
  const held = policies
    .map(({ algorithm }, j) => (states[j] === undefined ? '' : algorithm.encode(states[j])))
    .join(' ');
  const isUnused = states.every((state) => state === undefined);
  const text = isUnused ? '' : edition === undefined ? held : `${String(version)};${held}`;
  return blockedUntilMs > nowMs ? `!${String(blockedUntilMs)}!${text}` : text;
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
    throw new StoreError(
      'SLUICE_TWINS_DISAGREE',
      `kernel and script differ at ${String(atMs)}: admitted ${admitted} and ${asText(admittedThere)}, values ${JSON.stringify(expected)} and ${JSON.stringify(after)}, from ${JSON.stringify(values.slice(0, -1))} with ${JSON.stringify(call.args)}`,
    );
  }
}
