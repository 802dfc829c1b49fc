import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import { untilInstant } from '../instant-and-field.ts';
import { writtenBucket } from '../written.ts';
import {
  chargeTokenBucket,
  migrateTokenBucket,
  decodeTokenBucket,
  encodeTokenBucket,
  refundTokenBucket,
  resetAtMs,
  tokenBucket as kernel,
  usedOfTokenBucket,
  type TokenBucketState,
} from './kernel.ts';
import {
  parseTokenBucket,
  shareTokenBucket,
  type TokenBucketPolicy,
  OPTIONS,
  type TokenBucketOptions,
} from './policy.ts';
import { splitTokenBucket } from './split.ts';
import { PolicyError, shown } from '../../errors.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';
import { intervalBucketAlgorithm } from '../interval-bucket/index.ts';
import type { IntervalBucketPolicy } from '../interval-bucket/policy.ts';

export const tokenBucketAlgorithm: Algorithm<TokenBucketPolicy, TokenBucketState> = /* @__PURE__ */ register({
  name: 'tokenBucket',
  kind: 't',
  kernel,
  refund: refundTokenBucket,
  charge: chargeTokenBucket,
  used: usedOfTokenBucket,
  migrate: migrateTokenBucket,
  resetAtMs,
  packing: {
    first: ({ fullAtMs }) => fullAtMs,
    second: ({ part }) => part,
    unpack: (_policy, fullAtMs, part) => ({ fullAtMs, part }),
  },
  encode: encodeTokenBucket,
  decode: decodeTokenBucket,
  numbers: ({ capacity, p, q, overdraft }) => [capacity, p, q, overdraft],
  windowMs: ({ capacity, p, q }) => Math.ceil((capacity * q) / p),
  share: shareTokenBucket,
  factory: { make: tokenBucket, options: OPTIONS },
  written: writtenBucket,
  inspect: ({ fullAtMs, part }, nowMs) => untilInstant(fullAtMs, part, nowMs),
  split: splitTokenBucket,
  parse: parseTokenBucket,
});

/**
 * A bucket that holds `capacity` units and is refilled with `refill` units every `every`. Any interval of length d
 * contains at most `capacity + refill / every * d` units; in the mode `interval`,
 * `capacity + refill * (whole periods in d, plus one)`. `overdraft` adds its units. Counts are exact at every rate:
 * nothing is rounded.
 *
 * @throws PolicyError with the field, what was expected and what was given; also for numbers that together are too
 * large to be counted exactly.
 */
export function tokenBucket(options: TokenBucketOptions & { mode?: 'continuous' }): TokenBucketPolicy;
export function tokenBucket(options: TokenBucketOptions & { mode: 'interval' }): IntervalBucketPolicy;
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy | IntervalBucketPolicy;
export function tokenBucket(options: TokenBucketOptions): TokenBucketPolicy | IntervalBucketPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'tokenBucket');
  const { mode = 'continuous' } = options;
  const common = {
    ...(options.name === undefined ? {} : { name: options.name }),
    capacity: options.capacity,
    refill: options.refill,
    everyMs: parseDuration(options.every, 'every'),
    overdraft: options.overdraft === undefined ? 0 : options.overdraft,
  };
  switch (mode) {
    case 'continuous':
      return tokenBucketAlgorithm.parse({ algorithm: 'tokenBucket', ...common, p: 0, q: 0 });
    case 'interval':
      return intervalBucketAlgorithm.parse({ algorithm: 'intervalBucket', ...common });
    default:
      throw new PolicyError('mode', `mode must be "continuous" or "interval", got ${shown(mode)}`);
  }
}
