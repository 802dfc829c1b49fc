import type { Algorithm } from '../algorithm.ts';
import {
  carryLeakyBucket,
  chargeLeakyBucket,
  decodeLeakyBucket,
  encodeLeakyBucket,
  leakyBucket,
  refundLeakyBucket,
  resetAtMs,
  usedOfLeakyBucket,
  type LeakyBucketState,
} from './kernel.ts';
import { parseLeakyBucket, shareLeakyBucket, unitsAtOnce, type LeakyBucketPolicy } from './policy.ts';

export const leakyBucketAlgorithm: Algorithm<LeakyBucketPolicy, LeakyBucketState> = {
  name: 'leakyBucket',
  kind: 'p',
  kernel: leakyBucket,
  paces: true,
  refund: refundLeakyBucket,
  charge: chargeLeakyBucket,
  used: usedOfLeakyBucket,
  carry: carryLeakyBucket,
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
  parse: parseLeakyBucket,
};
