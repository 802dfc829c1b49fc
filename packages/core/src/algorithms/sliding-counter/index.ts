import type { Algorithm } from '../algorithm.ts';
import {
  carrySlidingCounter,
  chargeSlidingCounter,
  decodeSlidingCounter,
  encodeSlidingCounter,
  refundSlidingCounter,
  resetAtMs,
  slidingCounter,
  usedOfSlidingCounter,
  type SlidingCounterState,
} from './kernel.ts';
import { parseSlidingCounter, shareSlidingCounter, type SlidingCounterPolicy } from './policy.ts';

export const slidingCounterAlgorithm: Algorithm<SlidingCounterPolicy, SlidingCounterState> = {
  name: 'slidingCounter',
  kind: 'w',
  kernel: slidingCounter,
  refund: refundSlidingCounter,
  charge: chargeSlidingCounter,
  used: usedOfSlidingCounter,
  carry: carrySlidingCounter,
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
  share: shareSlidingCounter,
  parse: parseSlidingCounter,
};
