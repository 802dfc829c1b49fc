import type { Algorithm } from '../../../src/algorithms/algorithm.ts';
import { register } from '../../../src/algorithms/registry.ts';
import { checkOptions } from '../../../src/values/check-options.ts';
import { parseDuration } from '../../../src/values/duration.ts';
import { shareOf } from '../../../src/values/numbers.ts';
import {
  migrateShiftedWindow,
  chargeShiftedWindow,
  decodeShiftedWindow,
  encodeShiftedWindow,
  refundShiftedWindow,
  shiftedWindow as kernel,
  type ShiftedWindowState,
} from './kernel.ts';
import {
  OPTIONS,
  parseShiftedWindow,
  writtenShiftedWindow,
  type ShiftedWindowOptions,
  type ShiftedWindowPolicy,
} from './policy.ts';

export const shiftedWindowAlgorithm: Algorithm<ShiftedWindowPolicy, ShiftedWindowState> = /* @__PURE__ */ register({
  name: 'shiftedWindow',
  kind: 'q',
  kernel,
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
  factory: { make: shiftedWindow, options: OPTIONS },
  written: writtenShiftedWindow,
  inspect: ({ endMs, used }, nowMs) => ({ used: nowMs < endMs ? used : 0, resetAtMs: endMs }),
  split: 'its windows begin between those of the clock',
  parse: parseShiftedWindow,
});

export function shiftedWindow(options: ShiftedWindowOptions): ShiftedWindowPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'shiftedWindow');
  return shiftedWindowAlgorithm.parse({
    algorithm: 'shiftedWindow',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs: parseDuration(options.window, 'window'),
    shiftMs: parseDuration(options.shift, 'shift', undefined, 0),
  });
}
