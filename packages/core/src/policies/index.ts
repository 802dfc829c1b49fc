import { PolicyError, shown } from '../errors.ts';
import { writeDuration } from '../values/duration.ts';
import { listed } from '../values/hint.ts';
import { concurrency, type ConcurrencyPolicy } from './concurrency.ts';
import { fixedWindow, type FixedWindowPolicy } from './fixed-window.ts';
import { leakyBucket, type LeakyBucketPolicy } from './leaky-bucket.ts';
import { ALGORITHMS, definePolicy, describeWindow, makePolicy, readMaker, RULE, getUnitShare } from './rule.ts';
import type { Algorithm, Rule, Share, WindowPolicy, WithRule } from './rule.ts';
import { slidingCounter, type SlidingCounterPolicy } from './sliding-counter.ts';
import { slidingLog, type SlidingLogPolicy } from './sliding-log.ts';
import { slidingWindow, type SlidingWindowPolicy } from './sliding-window.ts';
import { tokenBucket, type IntervalBucketPolicy, type TokenBucketPolicy } from './token-bucket.ts';

/**
 * A rule as plain frozen data: the name of its algorithm and its numbers. Made by `fixedWindow`, `slidingWindow` and
 * the like.
 */
export type Policy =
  | FixedWindowPolicy
  | SlidingWindowPolicy
  | SlidingCounterPolicy
  | SlidingLogPolicy
  | TokenBucketPolicy
  | IntervalBucketPolicy
  | LeakyBucketPolicy
  | ConcurrencyPolicy;

/** The functions that make policies, by their names. */
export const MAKERS: Readonly<Record<Exclude<Policy['algorithm'], 'intervalBucket'>, (options: never) => Policy>> = {
  fixedWindow,
  slidingWindow,
  slidingCounter,
  slidingLog,
  tokenBucket,
  leakyBucket,
  concurrency,
};

/**
 * Checks a policy from any source. A policy made by this copy of the package is returned unchanged. Plain data, such as
 * a stored record or a policy from another copy, is checked like the options of its function, and frozen.
 *
 * @throws PolicyError for anything else.
 */
export function parsePolicy(given: unknown, field = 'policy'): Policy {
  if ((given as WithRule | null | undefined)?.[RULE] !== undefined) return given as Policy;
  const data: Record<string, unknown> = typeof given === 'object' && given !== null ? { ...given } : {};
  const { algorithm, ...fields } = data;
  const isInterval = algorithm === 'tokenBucket' && fields['mode'] === 'interval';
  const kind = ALGORITHMS.get(isInterval ? 'intervalBucket' : (algorithm as string));
  if (kind === undefined) throw makeNotAPolicyError(given, field, algorithm);
  const options = Object.entries(fields).map(([name, value]) => [
    name.replace(/Ms$/, ''),
    name.endsWith('Ms') && typeof value === 'number' ? `${String(value)}ms` : value,
  ]);
  return makePolicy(kind, Object.fromEntries(options) as object) as Policy;
}

function makeNotAPolicyError(given: unknown, field: string, algorithm: unknown): PolicyError {
  const names = [...ALGORITHMS.keys()];
  const makers = listed(
    names.filter((name) => name !== 'intervalBucket'),
    'or',
  );
  const expected = `a policy made by ${makers}, such as fixedWindow({ limit: 100, window: "1m" })`;
  const maker = readMaker(given);
  const got =
    maker === undefined ? shown(given) : `the function ${maker}, which was not called; write ${maker}({ ... })`;
  const known = `; a bundle knows the algorithms whose functions it uses; known algorithms: ${listed(names)}`;
  return new PolicyError(field, `${field} must be ${expected}, got ${got}${algorithm === undefined ? '' : known}`);
}

/**
 * A policy as the program reads it: the same rule each time for the same object. Plain data is parsed the first time.
 *
 * @throws PolicyError as {@link parsePolicy} does.
 */
export function compile(policy: Policy): Rule {
  return (policy as WithRule)[RULE] ?? compileData(policy);
}

const RULES_OF_DATA = /* @__PURE__ */ new WeakMap<object, Rule>();

function compileData(data: Policy): Rule {
  const known = RULES_OF_DATA.get(data);
  if (known !== undefined) return known;
  const rule = (parsePolicy(data) as WithRule)[RULE] as Rule;
  RULES_OF_DATA.set(data, rule);
  return rule;
}

/**
 * The part of a policy that one process enforces, under the same name.
 *
 * @throws PolicyError if it cannot be counted exactly.
 */
export function scalePolicy<P extends Policy>(policy: P, share: Share): P {
  const algorithm = ALGORITHMS.get(policy.algorithm) as unknown as Algorithm<P>;
  const part = algorithm.scale?.(policy, share) ?? scaleLimit(policy, share);
  return definePolicy(algorithm, { ...policy, ...part });
}

function scaleLimit<P extends Policy>(policy: P, share: Share): Partial<P> {
  return { ...policy, limit: getUnitShare((policy as WindowPolicy & P).limit, share) };
}

/** A policy in a few words, with all options that differ from the default: `slidingWindow 100 per 1m`. */
export function describePolicy(policy: Policy): string {
  const block = policy.blockForMs === undefined ? '' : `, block for ${writeDuration(policy.blockForMs)}`;
  return (ALGORITHMS.get(policy.algorithm)?.describe?.(policy) ?? describeWindow(policy as WindowPolicy)) + block;
}

/** Whether two policies have the same algorithm, numbers and name. */
export function isSamePolicy(one: Policy, other: Policy): boolean {
  return one === other || JSON.stringify(parsePolicy(one)) === JSON.stringify(parsePolicy(other));
}

export type { Rule, Share } from './rule.ts';
