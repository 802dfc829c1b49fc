import type { Algorithm } from '../algorithm.ts';
import {
  chargeFixedWindow,
  migrateFixedWindow,
  decodeFixedWindow,
  encodeFixedWindow,
  fixedWindow,
  refundFixedWindow,
  usedOfFixedWindow,
  type FixedWindowState,
} from './kernel.ts';
import { leaseFixedWindow } from './lease.ts';
import { shareOf } from '../../values/numbers.ts';
import { fixedWindowFactory, parseFixedWindow, writtenFixedWindow, type FixedWindowPolicy } from './policy.ts';

export const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy, FixedWindowState> = {
  name: 'fixedWindow',
  kind: 'f',
  kernel: fixedWindow,
  refund: refundFixedWindow,
  charge: chargeFixedWindow,
  countsDenied: ({ countDenied }) => countDenied === true,
  used: usedOfFixedWindow,
  migrate: migrateFixedWindow,
  resetAtMs: (_policy, state) => state.endMs,
  packing: {
    first: ({ endMs }) => endMs,
    second: ({ used }) => used,
    unpack: (_policy, endMs, used) => ({ endMs, used }),
  },
  encode: encodeFixedWindow,
  decode: decodeFixedWindow,
  numbers: ({ limit, windowMs, align, countDenied }) => [
    limit,
    windowMs,
    align === 'clock' ? 1 : 0,
    countDenied === true ? 1 : 0,
  ],
  windowMs: (policy) => policy.windowMs,
  share: (policy, share) => parseFixedWindow({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: fixedWindowFactory,
  written: writtenFixedWindow,
  inspect: ({ endMs, used }, nowMs) => ({ used: nowMs < endMs ? used : 0, resetAtMs: endMs }),
  lease: leaseFixedWindow,
  split: {
    windowsOnTheClock: true,
    needs: 'align: "clock"',
    whyNot: ({ align }) =>
      align === 'clock'
        ? undefined
        : 'its windows begin at the first unit, in each instance at another time: write align: "clock"',
  },
  parse: parseFixedWindow,
};
