import type { Algorithm } from '../algorithm.ts';
import { untilInstant } from '../instant-and-field.ts';
import {
  migrateLeakyBucket,
  chargeLeakyBucket,
  decodeLeakyBucket,
  encodeLeakyBucket,
  leakyBucket,
  refundLeakyBucket,
  resetAtMs,
  usedOfLeakyBucket,
  type LeakyBucketState,
} from './kernel.ts';
import {
  leakyBucketFactory,
  parseLeakyBucket,
  shareLeakyBucket,
  unitsAtOnce,
  writtenLeakyBucket,
  type LeakyBucketPolicy,
} from './policy.ts';

export const leakyBucketAlgorithm: Algorithm<LeakyBucketPolicy, LeakyBucketState> = {
  name: 'leakyBucket',
  kind: 'p',
  kernel: leakyBucket,
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
  factory: leakyBucketFactory,
  written: writtenLeakyBucket,
  inspect: ({ freeAtMs, part }, nowMs) => untilInstant(freeAtMs, part, nowMs),
  lease: 'it gives each request a start time of its own',
  parse: parseLeakyBucket,
};
