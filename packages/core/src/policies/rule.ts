import type { Family } from '../program/family.ts';
import type { Kind } from '../program/kinds.ts';
import { HELD, LIMIT, LINE, MODE, type Nums } from '../program/numbers.ts';
import { parseDuration, writeDuration, type Duration } from '../values/duration.ts';
import { parseName } from '../values/name.ts';
import { duration, optional, readOptions } from '../values/shape.ts';
import type { Field, Optional, Options, Shape } from '../values/shape.ts';
import { units } from '../values/units.ts';

/** The fields of every policy. A policy is plain frozen data, so it survives JSON; times have `Ms` in their names. */
export interface PolicyBase {
  readonly algorithm: string;
  readonly name?: string;
  /** How long a denial by this policy blocks the key. */
  readonly blockForMs?: number;
}

/** `limit` units per `windowMs`. */
export interface WindowPolicy extends PolicyBase {
  readonly limit: number;
  readonly windowMs: number;
}

export const NAMED = {
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name: optional(parseName) as Optional<string>,
};

export const BLOCKING = {
  /**
   * How long to block a key once this policy itself denies a request that could fit. Denials during a block do not
   * extend it. Default: denials do not block.
   */
  blockFor: optional(duration()) as Optional<Duration, number>,
};

export const WINDOW = {
  /** Units per window: a whole number; 0 denies every request. */
  limit: units(0) as Field<number>,
  /** Length of the window. */
  window: duration() as Field<Duration, number>,
};

/** An option of every policy. */
export interface NamedOptions extends Options<typeof NAMED> {}

/** Options of every policy that may block a key. */
export interface BlockingOptions extends Options<typeof BLOCKING>, NamedOptions {}

/** Options of policies that count the units of a window. */
export interface WindowOptions extends Options<typeof WINDOW>, BlockingOptions {}

/** A policy as the program reads it. */
export interface Rule {
  readonly kind: Kind;
  readonly family: Family;
  readonly numbers: Nums;
  /** Units that an unused key allows at once. */
  readonly limit: number;
  /** The time in header fields: the window, the time to fill a bucket, or the ttl of a slot. */
  readonly windowMs: number;
  /** Whether its units are slots that are held: see `concurrency`. */
  readonly holds: boolean;
  /** Whether it delays requests that it allows: see `leakyBucket`. */
  readonly paces: boolean;
}

/** What differs between the kinds of policies. */
export interface Algorithm<P extends PolicyBase> {
  /** The `algorithm` of its policies. */
  readonly name: P['algorithm'];
  readonly kind: Kind;
  readonly family: Family;
  /** The options from which its policies are made. A list, because a spread is not free of side effects. */
  readonly shape: readonly Shape[];
  /** The function that takes them. Default: its name. */
  readonly maker?: string;
  /** The fields of a policy, if they differ from its options by more than `Ms` at the end of times. */
  complete?(fields: Partial<P>): Partial<P>;
  /**
   * The numbers for the program, except BLOCK_FOR.
   *
   * @throws PolicyError if they cannot be counted exactly, with the largest that can.
   */
  numbers(policy: P): readonly number[];
  /** Default: its window. */
  windowMs?(policy: P): number;
  /** The fields in which a share of the policy differs from the whole. Default: its limit. */
  scale?(policy: P, share: Share): Partial<P>;
  /** Its numbers in a few words, for errors and tools. Default: its limit and its window. */
  describe?(policy: P): string;
}

export function describeWindow({ algorithm, limit, windowMs }: WindowPolicy): string {
  return `${algorithm} ${String(limit)} per ${writeDuration(windowMs)}`;
}

/** All kinds of policies in this process. */
export const ALGORITHMS: Map<string, Algorithm<PolicyBase>> = /* @__PURE__ */ new Map();
/** The functions that create them, with the names that users write. */
const makers: Map<unknown, string> = /* @__PURE__ */ new Map();

/**
 * Registers a kind of policy and the function that creates it. Call it as `@__PURE__`: a bundler then leaves out kinds
 * whose functions the application does not use; Node loads and knows all of them.
 */
export function register<P extends PolicyBase>(
  make: (options: never) => PolicyBase,
  algorithm: Algorithm<P>,
): Algorithm<P> {
  ALGORITHMS.set(algorithm.name, algorithm);
  makers.set(make, algorithm.maker ?? algorithm.name);
  return algorithm;
}

/** The name of a function that creates policies; undefined for anything else. */
export function readMaker(given: unknown): string | undefined {
  return makers.get(given);
}

/** Options whose values are times. */
const TIME = /^(window|precision|every|maxDelay|ttl|blockFor)$/;

/** Makes a policy from the options that a user writes. */
export function makePolicy<P extends PolicyBase>(algorithm: Algorithm<P>, options: object): P {
  const { name, maker = name, shape } = algorithm;
  const all = Object.assign({}, ...shape) as Shape;
  const settings = Object.entries(readOptions(options, all, maker, 'SLUICE_POLICY_INVALID'));
  const given = settings.filter(([, value]) => value !== undefined);
  const fields: unknown = Object.fromEntries(given.map(([key, value]) => [TIME.test(key) ? `${key}Ms` : key, value]));
  const completed = algorithm.complete?.(fields as Partial<P>) ?? (fields as Partial<P>);
  return definePolicy(algorithm, { algorithm: name, ...completed } as P);
}

/**
 * A policy holds its rule here: a property that is not listed or copied, because a WeakMap takes several times as long.
 */
export const RULE: unique symbol = Symbol('rule');

/** Freezes checked fields as a policy, and compiles it. */
export function definePolicy<P extends PolicyBase>(algorithm: Algorithm<P>, policy: P): P {
  const [limit = 0, overdraft = 0, ...rest] = algorithm.numbers(policy);
  const numbers = [limit, overdraft, policy.blockForMs ?? 0, ...rest] as number[] as Nums;
  const rule: Rule = {
    kind: algorithm.kind,
    family: algorithm.family,
    numbers,
    limit: numbers[LIMIT],
    windowMs: algorithm.windowMs?.(policy) ?? (policy as WindowPolicy & P).windowMs,
    holds: numbers[MODE] === HELD,
    paces: numbers[MODE] === LINE,
  };
  return Object.freeze(Object.defineProperty(policy, RULE, { value: rule }));
}

/** A policy created by this package has a rule; any other value has none. */
export interface WithRule {
  readonly [RULE]?: Rule;
}

/**
 * The part of a policy that one process enforces: a fraction above 0 and below 1, rounded down to whole units and at
 * least one; or exactly these units, from 0, and the fraction `weight / total` (whole numbers) of everything else.
 */
export type Share = number | { readonly units: number; readonly weight: number; readonly total: number };

/** The units of a share of a limit or capacity. */
export function getUnitShare(units: number, share: Share): number {
  if (typeof share === 'object') return share.units;
  return units === 0 ? 0 : Math.max(multiplyDown(units, share), 1);
}

/** A fraction of a number, rounded down; rounded to 15 digits first, because 100 * 0.29 is slightly less than 29. */
export function multiplyDown(number: number, share: Share): number {
  if (typeof share === 'object') return Number((BigInt(number) * BigInt(share.weight)) / BigInt(share.total));
  return Math.floor(Number((number * share).toPrecision(15)));
}

/**
 * The time in which a share refills what the whole refills in `ms`, rounded up.
 *
 * @throws PolicyError if it is longer than a duration may be.
 */
export function getTimeShare(ms: number, share: Share, field: string): number {
  if (typeof share === 'number') return parseDuration(`${String(Math.ceil(ms / share))}ms`, field);
  const weight = BigInt(share.weight);
  return parseDuration(`${String((BigInt(ms) * BigInt(share.total) + weight - 1n) / weight)}ms`, field);
}

/** The maximum units of a log and slots of a key: the program keeps an entry for each. */
export const MAX_ENTRIES = 1000;

/** Greatest common divisor of two whole numbers above 0. */
export function gcd(a: number, b: number): number {
  while (b !== 0) [a, b] = [b, a % b];
  return a;
}
