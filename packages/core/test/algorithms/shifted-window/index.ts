import type { Algorithm } from '../../../src/algorithms/algorithm.ts';
import { shareOf } from '../../../src/values/numbers.ts';
import {
  migrateShiftedWindow,
  chargeShiftedWindow,
  decodeShiftedWindow,
  encodeShiftedWindow,
  refundShiftedWindow,
  shiftedWindow,
  type ShiftedWindowState,
} from './kernel.ts';
import { parseShiftedWindow, shiftedWindowFactory, writtenShiftedWindow, type ShiftedWindowPolicy } from './policy.ts';

export const shiftedWindowAlgorithm: Algorithm<ShiftedWindowPolicy, ShiftedWindowState> = {
  name: 'shiftedWindow',
  kind: 'q',
  kernel: shiftedWindow,
  refund: refundShiftedWindow,
  charge: chargeShiftedWindow,
  used: (_policy, { endMs, used }, nowMs) => (nowMs < endMs ? used : 0),
  migrate: migrateShiftedWindow,
  resetAtMs: (_policy, { endMs }) => endMs,
  packing: {
    first: ({ endMs }) => endMs,
    second: ({ used }) => used,
    unpack: (_policy, endMs, used) => ({ endMs, used }),
  },
  encode: encodeShiftedWindow,
  decode: decodeShiftedWindow,
  numbers: ({ limit, windowMs, shiftMs }) => [limit, windowMs, shiftMs],
  windowMs: ({ windowMs }) => windowMs,
  share: (policy, share) => parseShiftedWindow({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: shiftedWindowFactory,
  written: writtenShiftedWindow,
  inspect: ({ endMs, used }, nowMs) => ({ used: nowMs < endMs ? used : 0, resetAtMs: endMs }),
  lease: { spentByMs: (_policy, untilMs) => untilMs },
  split: 'its windows begin between those of the clock',
  parse: parseShiftedWindow,
};
