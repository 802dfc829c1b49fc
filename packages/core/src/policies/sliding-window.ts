import { PolicyError, shown } from '../errors.ts';
import { blocks } from '../program/blocks.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import { duration, optional, type Optional, type Options } from '../values/shape.ts';
import { describeWindow, BLOCKING, makePolicy, NAMED, register, WINDOW } from './rule.ts';
import type { Algorithm, WindowOptions, WindowPolicy } from './rule.ts';

/** `limit` units in any interval of `windowMs`, counted in blocks of `precisionMs`. */
export interface SlidingWindowPolicy extends WindowPolicy {
  readonly algorithm: 'slidingWindow';
  readonly precisionMs: number;
}

const PRECISION = {
  /**
   * The length of the blocks. It must divide the window into at most 100 blocks. Default: a tenth of the window,
   * rounded up to a millisecond.
   */
  precision: optional(duration()) as Optional<Duration, number>,
};

export interface SlidingWindowOptions extends WindowOptions, Options<typeof PRECISION> {}

/**
 * Allows at most `limit` units in **any** interval of `window`. Units are counted in clock-aligned blocks. Those of the
 * newest block are available again one window after the last of them, older ones at most one block late (less than two
 * if the default precision does not divide the window). After a window without requests, a key is as if never used.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingWindow(options: SlidingWindowOptions): SlidingWindowPolicy {
  return makePolicy(algorithm, options);
}

export const MAX_BLOCKS = 100;

function getDefaultPrecision(windowMs: number): number {
  return Math.ceil(windowMs / 10);
}

/**
 * @throws PolicyError unless the blocks divide the window into at most 100, or are the default ones, which need not
 * divide it.
 */
function checkPrecision(ms: number, windowMs: number): void {
  const [min, byDefault] = [Math.ceil(windowMs / MAX_BLOCKS), getDefaultPrecision(windowMs)];
  const isWithin = ms >= min && ms <= windowMs;
  if (isWithin && (windowMs % ms === 0 || ms === byDefault)) return;
  const bounds = `be at least ${String(min)} ms (a hundredth of the window) and at most the window`;
  const expected = isWithin ? `divide the window of ${String(windowMs)} ms` : bounds;
  const got = `got ${shown(writeDuration(ms))}; ${String(byDefault)} is the default`;
  throw new PolicyError('precision', `precision must ${expected}, ${got}`);
}

const algorithm: Algorithm<SlidingWindowPolicy> = /* @__PURE__ */ register<SlidingWindowPolicy>(slidingWindow, {
  name: 'slidingWindow',
  kind: 's',
  family: blocks,
  shape: [WINDOW, PRECISION, BLOCKING, NAMED],
  complete({ windowMs = 0, precisionMs = getDefaultPrecision(windowMs), ...fields }) {
    checkPrecision(precisionMs, windowMs);
    return { ...fields, windowMs, precisionMs };
  },
  numbers: ({ limit, windowMs, precisionMs: ms }) => [limit, 0, 0, ms, Math.ceil(windowMs / ms) * ms],
  describe: (policy) =>
    describeWindow(policy) +
    (policy.precisionMs === getDefaultPrecision(policy.windowMs)
      ? ''
      : `, precision ${writeDuration(policy.precisionMs)}`),
});
