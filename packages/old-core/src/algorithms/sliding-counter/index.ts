import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import {
  migrateSlidingCounter,
  chargeSlidingCounter,
  decodeSlidingCounter,
  encodeSlidingCounter,
  inspectSlidingCounter,
  refundSlidingCounter,
  resetAtMs,
  slidingCounter as kernel,
  usedOfSlidingCounter,
  type SlidingCounterState,
} from './kernel.ts';
import {
  parseSlidingCounter,
  writtenSlidingCounter,
  type SlidingCounterPolicy,
  OPTIONS,
  type SlidingCounterOptions,
} from './policy.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';

export const slidingCounterAlgorithm: Algorithm<SlidingCounterPolicy, SlidingCounterState> = /* @__PURE__ */ register({
  name: 'slidingCounter',
  kind: 'w',
  kernel,
  refund: refundSlidingCounter,
  charge: chargeSlidingCounter,
  used: usedOfSlidingCounter,
  migrate: migrateSlidingCounter,
  resetAtMs,
  packing: {
    fits: (policy, { windowMs, previous }) => windowMs === policy.windowMs && previous === 0,
    first: ({ lastMs }) => lastMs,
    second: ({ current }) => current,
    unpack: ({ windowMs }, lastMs, current) => ({ lastMs, windowMs, current, previous: 0 }),
  },
  encode: encodeSlidingCounter,
  decode: decodeSlidingCounter,
  numbers: ({ limit, windowMs }) => [limit, windowMs],
  windowMs: (policy) => policy.windowMs,
  share: (policy, share) => parseSlidingCounter({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: { make: slidingCounter, options: OPTIONS },
  written: writtenSlidingCounter,
  inspect: inspectSlidingCounter,
  parse: parseSlidingCounter,
});

/**
 * Estimates the units of the last `window` from two clock-aligned windows: all units of the current one, and the share
 * of the previous one that the interval still covers, as if its units had come evenly. The estimate is at most `limit`.
 * Every clock-aligned window contains at most `limit` units, and the worst interval of that length `2 * limit - 1`;
 * {@link slidingWindow} prevents that. The state is two counts per key.
 *
 * @throws PolicyError with the field, what was expected and what was given; also for numbers that together are too
 * large to be weighed exactly.
 */
export function slidingCounter(options: SlidingCounterOptions): SlidingCounterPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'slidingCounter');
  return slidingCounterAlgorithm.parse({
    algorithm: 'slidingCounter',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs: parseDuration(options.window, 'window'),
  });
}
