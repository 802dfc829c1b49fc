import { StoreError } from '../../errors.ts';
import { toInteger } from '../../algorithms/instant-and-field.ts';
import type { NamedPolicy } from '../../policy.ts';
import { decodeRefusals, encodeRefusals, remembered, type Refusals } from '../escalation.ts';
import type { KeyState } from '../evaluate.ts';
import type { Limit } from '../store.ts';

/** A key's states as they stand in Redis, where it takes an edition to decode them. */
export interface Undecoded extends KeyState {
  readonly text?: string;
}

/** What stands for a state that is not decoded: its edition is not known here. */
export const UNKNOWN: symbol = Symbol('a state of another edition');

const NOT_WRITTEN = 'it holds something else than this policy writes';

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/**
 * Decodes `[!<blocked until>!][^<refusals>^]<state> <state>...`, or says why that cannot be done. What begins with `<version>;` is
 * decoded where an edition of its limit is known that can.
 */
export function readValue(
  value: unknown,
  key: string,
  { policies, edition }: Pick<Limit, 'policies' | 'edition'>,
): Undecoded | StoreError {
  if (value === null || value === undefined) {
    return { blockedUntilMs: 0, states: policies.map(() => undefined), refusals: undefined };
  }
  const [only] = policies;
  // The usual case: a single state, with nothing before it.
  if (typeof value === 'string' && policies.length === 1 && edition === undefined && isDigit(value.charCodeAt(0))) {
    const state = only?.algorithm.decode(value);
    return state === undefined
      ? foreign(key, NOT_WRITTEN)
      : { blockedUntilMs: 0, states: [state], refusals: undefined };
  }
  if (Array.isArray(value)) return foreign(key, String(value[0]));
  let text = textOf(value);
  let blockedUntilMs = 0;
  let refusals: Refusals | undefined;
  if (text.startsWith('!')) {
    const ending = text.indexOf('!', 1);
    const instant = toInteger(text.slice(1, ending));
    if (instant === undefined) return foreign(key, 'it holds no instant between its "!"');
    blockedUntilMs = instant;
    text = text.slice(ending + 1);
  }
  if (text.startsWith('^')) {
    const ending = text.indexOf('^', 1);
    refusals = decodeRefusals(text.slice(1, ending));
    if (refusals === undefined) return foreign(key, 'it holds no refusals between its "^"');
    text = text.slice(ending + 1);
  }
  if (edition === undefined || text === '') {
    const states = readStates(text, policies);
    return typeof states === 'string' ? foreign(key, states) : { blockedUntilMs, states, refusals };
  }
  const ending = text.indexOf(';');
  const version = ending === -1 ? undefined : toInteger(text.slice(0, ending));
  if (version === undefined || ending === text.length - 1)
    return foreign(key, 'it does not say which edition wrote it');
  return { blockedUntilMs, states: policies.map(() => UNKNOWN), refusals, version, text: text.slice(ending + 1) };
}

/** The states in a text of several, or what is wrong with it. */
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

/** Some clients answer with buffers. */
export function textOf(value: unknown): string {
  return value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : (value as string);
}

/** The key itself may name a client: the message says where to look without it. */
export function foreign(key: string, why: string): StoreError {
  const shape = key.replace(/\{.*\}/, '{...}');
  return new StoreError(
    'SLUICE_STORE_KEY_FOREIGN',
    `a key of the form ${shape} cannot be read: ${why}; delete it, or give the store a prefix of its own`,
  );
}

/** The value that frame.lua writes for these states: of long ones the outline. */
export function writeValue(
  { policies, edition }: Limit,
  { blockedUntilMs, states, refusals, version }: KeyState,
  nowMs: number,
): string {
  const held = policies
    .map(({ algorithm }, j) =>
      states[j] === undefined ? '' : algorithm.encode(algorithm.outline?.(states[j]) ?? states[j]),
    )
    .join(' ');
  const isUnused = states.every((state) => state === undefined);
  const used = isUnused ? '' : edition === undefined ? held : `${String(version)};${held}`;
  const text = encodeRefusals(remembered(refusals, nowMs)) + used;
  return blockedUntilMs > nowMs ? `!${String(blockedUntilMs)}!${text}` : text;
}
