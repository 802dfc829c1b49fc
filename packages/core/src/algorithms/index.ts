import { PolicyError, shown } from '../errors.ts';
import { listed } from '../values/names-elsewhere.ts';
import type { Algorithm, PolicyBase } from './algorithm.ts';
import { concurrencyAlgorithm } from './concurrency/index.ts';
import { fixedWindowAlgorithm } from './fixed-window/index.ts';
import { intervalBucketAlgorithm } from './interval-bucket/index.ts';
import { leakyBucketAlgorithm } from './leaky-bucket/index.ts';
import { slidingCounterAlgorithm } from './sliding-counter/index.ts';
import { slidingLogAlgorithm } from './sliding-log/index.ts';
import { slidingWindowAlgorithm } from './sliding-window/index.ts';
import { tokenBucketAlgorithm } from './token-bucket/index.ts';

/**
 * The registry: one line per algorithm. The Redis scripts contain the folders beside this file; a test compares the
 * two.
 */
type Registered = [
  typeof fixedWindowAlgorithm,
  typeof slidingWindowAlgorithm,
  typeof slidingCounterAlgorithm,
  typeof slidingLogAlgorithm,
  typeof tokenBucketAlgorithm,
  typeof intervalBucketAlgorithm,
  typeof leakyBucketAlgorithm,
  typeof concurrencyAlgorithm,
];
const registered: Registered = [
  fixedWindowAlgorithm,
  slidingWindowAlgorithm,
  slidingCounterAlgorithm,
  slidingLogAlgorithm,
  tokenBucketAlgorithm,
  intervalBucketAlgorithm,
  leakyBucketAlgorithm,
  concurrencyAlgorithm,
];

/**
 * A rule as plain frozen data: the name of its algorithm and its numbers. Made by `fixedWindow`, `slidingWindow` and
 * the like.
 */
export type Policy = Parameters<Registered[number]['parse']>[0];

/** An algorithm whose policy and state types are not known here. Its functions get only its own policies and states. */
export type AnyAlgorithm = Algorithm<PolicyBase, unknown>;

export const algorithms: readonly AnyAlgorithm[] = registered as readonly unknown[] as readonly AnyAlgorithm[];

/**
 * The algorithm of a policy.
 *
 * @throws PolicyError for a value that is not a policy.
 */
export function algorithmOf(policy: unknown, field = 'policy'): AnyAlgorithm {
  const name = typeof policy === 'object' && policy !== null && 'algorithm' in policy ? policy.algorithm : undefined;
  const found = algorithms.find((algorithm) => algorithm.name === name);
  if (found !== undefined) return found;
  const makers = algorithms.filter(({ factory }) => factory !== undefined).map((algorithm) => algorithm.name);
  throw new PolicyError(
    field,
    `${field} must be a policy made by ${listed(makers, 'or')}, such as fixedWindow({ limit: 100, window: "1m" }), got ${typeof policy === 'function' ? 'a function that was not called' : shown(policy)}` +
      (name === undefined ? '' : `; known algorithms: ${listed(algorithms.map((algorithm) => algorithm.name))}`),
  );
}
