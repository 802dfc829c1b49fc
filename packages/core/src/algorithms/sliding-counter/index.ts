import type { Algorithm } from '../algorithm.ts';
import {
  migrateSlidingCounter,
  chargeSlidingCounter,
  decodeSlidingCounter,
  encodeSlidingCounter,
  inspectSlidingCounter,
  refundSlidingCounter,
  resetAtMs,
  slidingCounter,
  usedOfSlidingCounter,
  type SlidingCounterState,
} from './kernel.ts';
import {
  parseSlidingCounter,
  shareSlidingCounter,
  slidingCounterFactory,
  writtenSlidingCounter,
  type SlidingCounterPolicy,
} from './policy.ts';

export const slidingCounterAlgorithm: Algorithm<SlidingCounterPolicy, SlidingCounterState> = {
  name: 'slidingCounter',
  kind: 'w',
  kernel: slidingCounter,
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
  share: shareSlidingCounter,
  factory: slidingCounterFactory,
  written: writtenSlidingCounter,
  inspect: inspectSlidingCounter,
  lease: 'its units fade from the instant they are taken at, not from the one they are spent at',
  parse: parseSlidingCounter,
};
