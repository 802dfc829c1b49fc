import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import {
  chargeSlidingWindow,
  migrateSlidingWindow,
  decodeSlidingWindow,
  encodeSlidingWindow,
  inspectSlidingWindow,
  refundSlidingWindow,
  resetAtMs,
  slidingWindow,
  usedOfSlidingWindow,
  type SlidingWindowState,
} from './kernel.ts';
import {
  blocksOf,
  parseSlidingWindow,
  slidingWindowFactory,
  writtenSlidingWindow,
  type SlidingWindowPolicy,
} from './policy.ts';

export const slidingWindowAlgorithm: Algorithm<SlidingWindowPolicy, SlidingWindowState> = {
  name: 'slidingWindow',
  kind: 's',
  kernel: slidingWindow,
  refund: refundSlidingWindow,
  charge: chargeSlidingWindow,
  used: usedOfSlidingWindow,
  migrate: migrateSlidingWindow,
  resetAtMs,
  packing: {
    fits: (policy, { blockMs, blocks, counts }) =>
      counts.length === 1 && blockMs === policy.precisionMs && blocks === blocksOf(policy),
    first: ({ lastMs }) => lastMs,
    second: ({ sum }) => sum,
    unpack: (policy, lastMs, sum) => ({
      lastMs,
      blockMs: policy.precisionMs,
      blocks: blocksOf(policy),
      sum,
      counts: [sum],
    }),
  },
  encode: encodeSlidingWindow,
  decode: decodeSlidingWindow,
  numbers: (policy) => [policy.limit, policy.precisionMs, blocksOf(policy), policy.isLeased ? policy.precisionMs : 1],
  counts: (policy) => blocksOf(policy) + 1,
  windowMs: (policy) => policy.windowMs,
  share: (policy, share) => parseSlidingWindow({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: slidingWindowFactory,
  written: writtenSlidingWindow,
  inspect: inspectSlidingWindow,
  lease: {
    counted: (policy) => parseSlidingWindow({ ...policy, isLeased: true }),
    spentByMs: (policy, untilMs) => untilMs - blocksOf(policy) * policy.precisionMs,
  },
  split: {
    part: (policy, { units }) => (units > 0 ? { ...policy, limit: units } : undefined),
    outlastsMs: ({ windowMs }) => windowMs,
  },
  parse: parseSlidingWindow,
};
