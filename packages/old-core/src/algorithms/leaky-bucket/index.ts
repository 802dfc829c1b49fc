import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import { untilInstant } from '../instant-and-field.ts';
import {
  migrateLeakyBucket,
  chargeLeakyBucket,
  decodeLeakyBucket,
  encodeLeakyBucket,
  leakyBucket as kernel,
  refundLeakyBucket,
  resetAtMs,
  usedOfLeakyBucket,
  type LeakyBucketState,
} from './kernel.ts';
import {
  parseLeakyBucket,
  shareLeakyBucket,
  unitsAtOnce,
  writtenLeakyBucket,
  type LeakyBucketPolicy,
  OPTIONS,
  type LeakyBucketOptions,
} from './policy.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';

export const leakyBucketAlgorithm: Algorithm<LeakyBucketPolicy, LeakyBucketState> = /* @__PURE__ */ register({
  name: 'leakyBucket',
  kind: 'p',
  kernel,
  paces: true,
  refund: refundLeakyBucket,
  charge: chargeLeakyBucket,
  used: usedOfLeakyBucket,
  migrate: migrateLeakyBucket,
  resetAtMs,
  packing: {
    first: ({ freeAtMs }) => freeAtMs,
    second: ({ part }) => part,
    unpack: (_policy, freeAtMs, part) => ({ freeAtMs, part }),
  },
  encode: encodeLeakyBucket,
  decode: decodeLeakyBucket,
  numbers: (policy) => [unitsAtOnce(policy), policy.p, policy.q, policy.maxDelayMs * policy.p],
  windowMs: (policy) => policy.windowMs,
  share: shareLeakyBucket,
  factory: { make: leakyBucket, options: OPTIONS },
  written: writtenLeakyBucket,
  inspect: ({ freeAtMs, part }, nowMs) => untilInstant(freeAtMs, part, nowMs),
  parse: parseLeakyBucket,
});

/**
 * Paces requests: units start at least `window / limit` apart, first come first served. `delayMs` of a decision is the
 * wait until its first unit starts; the caller has to wait, or nothing is paced. A request whose last unit would start
 * later than `maxDelay` is denied, and reserves nothing. `limit` of a decision is the number of units that an unused
 * key allows at once: all that start within `maxDelay`, the first of them immediately.
 *
 * @throws PolicyError with the field, what was expected and what was given; also for numbers that together are too
 * large to be counted exactly.
 */
export function leakyBucket(options: LeakyBucketOptions): LeakyBucketPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'leakyBucket');
  return leakyBucketAlgorithm.parse({
    algorithm: 'leakyBucket',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs: parseDuration(options.window, 'window'),
    maxDelayMs: parseDuration(options.maxDelay, 'maxDelay', undefined, 0),
    p: 0,
    q: 0,
  });
}
