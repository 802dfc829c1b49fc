import { StoreError } from '../../errors.ts';
import { toInteger } from '../../algorithms/instant-and-field.ts';
import type { NamedPolicy } from '../../engine/policy.ts';
import { decodeDenialCount, encodeDenialCount, remembered, type DenialCount } from '../../engine/denial-count.ts';
import type { EarlierVersion, Limit, KeyState } from '../../engine/store.ts';

/** A key whose states are not decoded yet because that needs the policy version that wrote them. */
export interface Undecoded extends KeyState {
  readonly text?: string;
}

/** The state of a key whose policy version is not known here: it is not decoded. */
const UNKNOWN: symbol = Symbol('a state of another policyVersion');

const NOT_WRITTEN = 'it does not hold a state of this policy';

/**
 * Decodes `[!<blocked until>!][^<denials>^]<state> <state>...`, or returns why it cannot. States that begin with
 * `<version>;` are decoded later, by the policy version that wrote them.
 */
export function readValue(
  value: unknown,
  key: string,
  { policies, policyVersion }: Pick<Limit, 'policies' | 'policyVersion'>,
): Undecoded | StoreError {
  if (value === null || value === undefined) {
    return { blockedUntilMs: 0, states: policies.map(() => undefined), denials: undefined };
  }
  const first = typeof value === 'string' ? value.charCodeAt(0) : 0;
  // The usual case: a single state without a prefix, which begins with a digit.
  if (first >= 48 && first <= 57 && policies.length === 1 && policyVersion === undefined) {
    const state = policies[0]?.algorithm.decode(value as string);
    return state === undefined ? foreign(key, NOT_WRITTEN) : { blockedUntilMs: 0, states: [state], denials: undefined };
  }
  if (Array.isArray(value)) return foreign(key, String(value[0]));
  let text = textOf(value);
  let blockedUntilMs = 0;
  let denials: DenialCount | undefined;
  if (text.startsWith('!')) {
    const ending = text.indexOf('!', 1);
    const instant = toInteger(text.slice(1, ending));
    if (instant === undefined) return foreign(key, 'it holds no instant between its "!"');
    blockedUntilMs = instant;
    text = text.slice(ending + 1);
  }
  if (text.startsWith('^')) {
    const ending = text.indexOf('^', 1);
    denials = decodeDenialCount(text.slice(1, ending));
    if (denials === undefined) return foreign(key, 'it holds no denials between its "^"');
    text = text.slice(ending + 1);
  }
  if (policyVersion === undefined || text === '') {
    const states = readStates(text, policies);
    return typeof states === 'string' ? foreign(key, states) : { blockedUntilMs, states, denials };
  }
  const ending = text.indexOf(';');
  const version = ending === -1 ? undefined : toInteger(text.slice(0, ending));
  if (version === undefined || ending === text.length - 1)
    return foreign(key, 'it does not name the policy version that wrote it');
  return { blockedUntilMs, states: policies.map(() => UNKNOWN), denials, version, text: text.slice(ending + 1) };
}

/** The states in a text, or why they cannot be read. */
export function readStates(text: string, policies: readonly NamedPolicy[]): readonly unknown[] | string {
  const texts = policies.length === 1 || text === '' ? [text] : text.split(' ');
  if (text !== '' && texts.length !== policies.length) return 'it holds states of more or fewer policies';
  const states: unknown[] = [];
  for (let j = 0; j < policies.length; j++) {
    const stored = texts[j] ?? '';
    const state = stored === '' ? undefined : policies[j]?.algorithm.decode(stored);
    if (stored !== '' && state === undefined) return NOT_WRITTEN;
    states.push(state);
  }
  return states;
}

/**
 * The key, its states decoded by the policy version that wrote them, if the limit knows it.
 *
 * @param name - The key in the store.
 */
export function withStates(key: Undecoded, limit: Limit, name: string): KeyState | StoreError {
  if (limit.policyVersion === undefined || key.states[0] !== UNKNOWN) return key;
  const { version, earlier } = limit.policyVersion;
  const wrote = key.version === version ? limit : earlier.get(key.version as number);
  if (wrote === undefined || wrote === 'unknown') return key;
  if (wrote !== limit && (wrote as EarlierVersion).carryOver === 'reset') return key; // nothing of it is read
  const states = readStates(key.text ?? '', wrote.policies);
  if (typeof states === 'string') return foreign(name, states);
  key.states = states;
  return key;
}

/** Some clients return buffers. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : (value as string);
}

/** The message shows the form of the key without its subject, which may identify a client. */
export function foreign(key: string, why: string): StoreError {
  const shape = key.replace(/\{.*\}/s, '{...}');
  return new StoreError(
    'SLUICE_STORE_KEY_FOREIGN',
    `a key of the form ${shape} cannot be read: ${why}; delete it, or give the store a prefix of its own`,
  );
}

/** The value that general.lua writes for these states: for an external state its summary. */
export function writeValue(limit: Limit, key: KeyState, nowMs: number): string {
  const states = limit.policies.map(({ algorithm }, j) =>
    key.states[j] === undefined ? undefined : (algorithm.summarize?.(key.states[j]) ?? key.states[j]),
  );
  return writeWhole(limit, { ...key, states }, nowMs);
}

/** The result of {@link readValue}, with the whole of each state. Empty for a key that is as if never used. */
export function writeWhole(
  { policies, policyVersion }: Limit,
  { blockedUntilMs, states, denials, version }: KeyState,
  nowMs: number,
): string {
  const held = policies
    .map(({ algorithm }, j) => (states[j] === undefined ? '' : algorithm.encode(states[j])))
    .join(' ');
  const isUnused = states.every((state) => state === undefined);
  const used = isUnused ? '' : policyVersion === undefined ? held : `${String(version)};${held}`;
  const text = encodeDenialCount(remembered(denials, nowMs)) + used;
  return blockedUntilMs > nowMs ? `!${String(blockedUntilMs)}!${text}` : text;
}
