import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import {
  chargeSlidingWindow,
  migrateSlidingWindow,
  decodeSlidingWindow,
  encodeSlidingWindow,
  inspectSlidingWindow,
  refundSlidingWindow,
  resetAtMs,
  slidingWindow as kernel,
  usedOfSlidingWindow,
  type SlidingWindowState,
} from './kernel.ts';
import {
  blocksOf,
  parseSlidingWindow,
  writtenSlidingWindow,
  type SlidingWindowPolicy,
  OPTIONS,
  type SlidingWindowOptions,
  DEFAULT_BLOCKS,
} from './policy.ts';
import { PolicyError, shown } from '../../errors.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';

export const slidingWindowAlgorithm: Algorithm<SlidingWindowPolicy, SlidingWindowState> = /* @__PURE__ */ register({
  name: 'slidingWindow',
  kind: 's',
  kernel,
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
  numbers: (policy) => [policy.limit, policy.precisionMs, blocksOf(policy)],
  counts: (policy) => blocksOf(policy) + 1,
  windowMs: (policy) => policy.windowMs,
  share: (policy, share) => parseSlidingWindow({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: { make: slidingWindow, options: OPTIONS },
  written: writtenSlidingWindow,
  inspect: inspectSlidingWindow,
  split: {
    part: (policy, { units }) => (units > 0 ? { ...policy, limit: units } : undefined),
    outlastsMs: ({ windowMs }) => windowMs,
  },
  parse: parseSlidingWindow,
});

/**
 * Allows at most `limit` units in **any** interval as long as the window. The window is counted in clock-aligned
 * blocks. Units of the newest block are available again a window after the last of them, older ones at most one block
 * late (less than two if the default precision does not divide the window). A key that is quiet for a window is unused.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingWindow(options: SlidingWindowOptions): SlidingWindowPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'slidingWindow');
  const windowMs = parseDuration(options.window, 'window');
  const precisionMs =
    options.precision === undefined
      ? Math.ceil(windowMs / DEFAULT_BLOCKS)
      : parseDuration(options.precision, 'precision');
  if (options.precision !== undefined && windowMs % precisionMs !== 0) {
    throw new PolicyError(
      'precision',
      `precision must divide the window of ${String(windowMs)} ms, got ${shown(options.precision)}; ${String(Math.ceil(windowMs / DEFAULT_BLOCKS))} is the default`,
    );
  }
  return slidingWindowAlgorithm.parse({
    algorithm: 'slidingWindow',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs,
    precisionMs,
  });
}
