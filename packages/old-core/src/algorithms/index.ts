import { concurrencyAlgorithm } from './concurrency/index.ts';
import { fixedWindowAlgorithm } from './fixed-window/index.ts';
import { intervalBucketAlgorithm } from './interval-bucket/index.ts';
import { leakyBucketAlgorithm } from './leaky-bucket/index.ts';
import { slidingCounterAlgorithm } from './sliding-counter/index.ts';
import { slidingLogAlgorithm } from './sliding-log/index.ts';
import { slidingWindowAlgorithm } from './sliding-window/index.ts';
import { tokenBucketAlgorithm } from './token-bucket/index.ts';
import type { AnyAlgorithm } from './registry.ts';

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

/** All of them. A module that a small bundle has does not import this one, but `registry.ts`. */
export const algorithms: readonly AnyAlgorithm[] = registered as readonly unknown[] as readonly AnyAlgorithm[];
