import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import { writtenBucket } from '../written.ts';
import {
  chargeIntervalBucket,
  migrateIntervalBucket,
  decodeIntervalBucket,
  encodeIntervalBucket,
  intervalBucket,
  refundIntervalBucket,
  resetAtMs,
  usedOfIntervalBucket,
  type IntervalBucketState,
} from './kernel.ts';
import { parseIntervalBucket, shareIntervalBucket, type IntervalBucketPolicy } from './policy.ts';

export const intervalBucketAlgorithm: Algorithm<IntervalBucketPolicy, IntervalBucketState> = /* @__PURE__ */ register({
  name: 'intervalBucket',
  kind: 'i',
  kernel: intervalBucket,
  refund: refundIntervalBucket,
  charge: chargeIntervalBucket,
  used: usedOfIntervalBucket,
  migrate: migrateIntervalBucket,
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
  written: (policy) => `${writtenBucket(policy)}, mode interval`,
  split: 'its units come back at once, in each instance at another time: leave mode: "interval" out',
  parse: parseIntervalBucket,
});
