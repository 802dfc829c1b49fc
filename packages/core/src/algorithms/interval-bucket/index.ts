import type { Algorithm } from '../algorithm.ts';
import {
  chargeIntervalBucket,
  carryIntervalBucket,
  decodeIntervalBucket,
  encodeIntervalBucket,
  intervalBucket,
  refundIntervalBucket,
  resetAtMs,
  usedOfIntervalBucket,
  type IntervalBucketState,
} from './kernel.ts';
import { parseIntervalBucket, shareIntervalBucket, type IntervalBucketPolicy } from './policy.ts';

export const intervalBucketAlgorithm: Algorithm<IntervalBucketPolicy, IntervalBucketState> = {
  name: 'intervalBucket',
  kind: 'i',
  kernel: intervalBucket,
  refund: refundIntervalBucket,
  charge: chargeIntervalBucket,
  used: usedOfIntervalBucket,
  carry: carryIntervalBucket,
  resetAtMs,
  packing: {
    first: ({ boundaryMs }) => boundaryMs,
    second: ({ missing }) => missing,
    unpack: (_policy, boundaryMs, missing) => ({ boundaryMs, missing }),
  },
  encode: encodeIntervalBucket,
  decode: decodeIntervalBucket,
  numbers: ({ capacity, refill, everyMs, overdraft }) => [capacity, refill, everyMs, overdraft],
  windowMs: ({ capacity, refill, everyMs }) => Math.ceil(capacity / refill) * everyMs,
  share: shareIntervalBucket,
  parse: parseIntervalBucket,
};
