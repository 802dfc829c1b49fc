import type { Described } from '../adapter-target/descriptions.ts';

/**
 * Descriptions of policies, keys and functions, for targets: they read like the calls of core that they stand for, and are JSON. What a
 * target makes of them is in adapter-target/names.ts.
 */
type Parameters = Readonly<Record<string, Described>>;

export interface Named {
  readonly $: string;
  readonly [name: string]: Described;
}

const named = (name: string, parameters: Parameters = {}): Named => ({ ...parameters, $: name });

export const UNDEFINED: Named = named('undefined');
/** NaN, Infinity and such. */
export const number = (value: number): Named => named('number', { text: String(value) });

export const fixedWindow = (options: Parameters): Named => named('fixedWindow', options);
export const slidingWindow = (options: Parameters): Named => named('slidingWindow', options);
export const tokenBucket = (options: Parameters): Named => named('tokenBucket', options);
export const leakyBucket = (options: Parameters): Named => named('leakyBucket', options);
export const concurrency = (options: Parameters): Named => named('concurrency', options);
export const managed = (name: string): Named => named('managed', { name });
export const escalate = (options: Parameters): Named => named('escalate', options);

export const byIp = (options: Parameters = {}): Named => named('byIp', options);
export const byAll = (): Named => named('byAll');
export const byHeader = (name: string): Named => named('byHeader', { name });
export const byUser = (pick?: Named): Named => named('byUser', pick === undefined ? {} : { pick });
export const byRoute = (): Named => named('byRoute');
export const byMethod = (): Named => named('byMethod');

/** A function that returns this. */
export const returns = (value: Described): Named => named('returns', { value });
/** A function that returns, or calls, the first of these at its first call, and so on; the last one from then on. */
export const inTurn = (...values: readonly Described[]): Named => named('inTurn', { values });
/** The value of a header, as text. `prefix` is put in front of it; `default` takes its place where it is missing. */
export const header = (name: string, how: { readonly default?: string; readonly prefix?: string } = {}): Named =>
  named('header', { name, ...how });
/** The number in a header. */
export const numberIn = (name: string, missing: number): Named =>
  named('header', { name, as: 'number', default: missing });
/** The text in a header that is percent-encoded there, because HTTP cannot carry it. */
export const decoded = (name: string): Named => named('header', { name, as: 'decoded' });
/** One of these, by the value of a header. */
export const chosenBy = (name: string, from: Parameters): Named => named('chosenBy', { header: name, from });
/** The managed policy that a header names. */
export const managedBy = (name: string): Named => named('managedBy', { header: name });
/** Returns, or calls, the first where a header has this value, else the second. */
export const when = (name: string, is: string, then: Described, otherwise: Described): Named =>
  named('when', { header: name, is, then, otherwise });
/** The same in a promise. */
export const later = (value: Described): Named => named('later', { value });
export const throws = (message: string): Named => named('throws', { message });
export const throwsValue = (value: Described): Named => named('throws', { value });
/** Adds an entry to the lists `functions` and `as`, then returns or calls the second. */
export const recorded = (as: string, then: Described): Named => named('recorded', { as, then });
/** Waits for a gate, then returns or calls the second. */
export const held = (gate: string, then: Described): Named => named('held', { gate, then });

interface OnDecision {
  /** A header to record with each decision. */
  readonly header?: string;
  /** A clock to start at the first denial. */
  readonly starts?: string;
  /** Called with the request and the response. */
  readonly then?: Described;
}
/** Adds each decision to the list `decisions`. */
export const onDecision = (how: OnDecision = {}): Named => named('onDecision', { ...how });
/** Adds each denial to the list `denials`, with a header of the request, and responds. */
export const onDenied = (name: string, answer: { readonly status: number; readonly body: string }): Named =>
  named('onDenied', { header: name, answer });

const store = (id: string, parameters: Parameters): Named => named('store', { id, ...parameters });
let others = 0;
/** Stores that fail, each in its way. */
export const failingStore = (kind: 'rejects' | 'throws' | 'never answers'): Named =>
  store(`f${String(others++)}`, { kind });
/** A store in memory that `through` of a target does not replace. */
export const ownMemory = (parameters: Parameters = {}): Named =>
  store(`o${String(others++)}`, { kind: 'memory', own: true, ...parameters });
export { store };

export const limiterNamed = (id: string): Named => named('limiter', { id });
export const policiesOf = (source: string): Named => named('policies', { source });
