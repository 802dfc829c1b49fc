import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import {
  chargeFixedWindow,
  migrateFixedWindow,
  decodeFixedWindow,
  encodeFixedWindow,
  fixedWindow as kernel,
  refundFixedWindow,
  usedOfFixedWindow,
  type FixedWindowState,
} from './kernel.ts';
import { shareOf } from '../../values/numbers.ts';
import {
  parseFixedWindow,
  writtenFixedWindow,
  type FixedWindowPolicy,
  OPTIONS,
  type FixedWindowOptions,
} from './policy.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';

export const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy, FixedWindowState> = /* @__PURE__ */ register({
  name: 'fixedWindow',
  kind: 'f',
  kernel,
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
  factory: { make: fixedWindow, options: OPTIONS },
  written: writtenFixedWindow,
  inspect: ({ endMs, used }, nowMs) => ({ used: nowMs < endMs ? used : 0, resetAtMs: endMs }),
  split: {
    windowsOnTheClock: true,
    needs: 'align: "clock"',
    whyNot: ({ align }) =>
      align === 'clock'
        ? undefined
        : 'its windows begin at the first unit, in each instance at another time: write align: "clock"',
  },
  parse: parseFixedWindow,
});

/**
 * Allows at most `limit` units per window. An interval of the same length that spans two windows can contain up to
 * `2 * limit - 1` units (`2 * limit` with `align: 'clock'`); {@link slidingWindow} prevents that. Later units never
 * move the end of a window. The state is one small integer per key.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function fixedWindow(options: FixedWindowOptions): FixedWindowPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'fixedWindow');
  return fixedWindowAlgorithm.parse({
    algorithm: 'fixedWindow',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs: parseDuration(options.window, 'window'),
    align: options.align === undefined ? 'first-hit' : options.align,
    ...(options.countDenied === undefined ? {} : { countDenied: options.countDenied }),
  });
}
