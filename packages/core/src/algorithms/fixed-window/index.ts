import type { Algorithm } from '../algorithm.ts';
import {
  chargeFixedWindow,
  carryFixedWindow,
  decodeFixedWindow,
  encodeFixedWindow,
  fixedWindow,
  refundFixedWindow,
  usedOfFixedWindow,
  type FixedWindowState,
} from './kernel.ts';
import { shareOf } from '../../numbers.ts';
import { parseFixedWindow, type FixedWindowPolicy } from './policy.ts';

export const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy, FixedWindowState> = {
  name: 'fixedWindow',
  kind: 'f',
  kernel: fixedWindow,
  refund: refundFixedWindow,
  charge: chargeFixedWindow,
  used: usedOfFixedWindow,
  carry: carryFixedWindow,
  resetAtMs: (_policy, state) => state.endMs,
  packing: {
    first: ({ endMs }) => endMs,
    second: ({ used }) => used,
    unpack: (_policy, endMs, used) => ({ endMs, used }),
  },
  encode: encodeFixedWindow,
  decode: decodeFixedWindow,
  numbers: ({ limit, windowMs, align }) => [limit, windowMs, align === 'clock' ? 1 : 0],
  windowMs: (policy) => policy.windowMs,
  share: (policy, share) => parseFixedWindow({ ...policy, limit: shareOf(policy.limit, share) }),
  parse: parseFixedWindow,
};
