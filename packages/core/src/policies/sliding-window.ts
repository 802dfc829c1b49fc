import { blocks } from '../program/blocks.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import { duration, invalid, optional, readOptions, type Field, type Optional, type Options } from '../values/shape.ts';
import { units } from '../values/units.ts';
import {
  BLOCKING,
  commonFields,
  definePolicy,
  NAMED,
  register,
  shareUnits,
  type Algorithm,
  type BlockForOption,
  type NameOption,
  type PolicyBase,
} from './rule.ts';

/** `limit` units in any interval of `windowMs`, counted in blocks of `precisionMs`. */
export interface SlidingWindowPolicy extends PolicyBase {
  readonly algorithm: 'slidingWindow';
  readonly limit: number;
  readonly windowMs: number;
  readonly precisionMs: number;
}

const SLIDING_WINDOW = {
  /** Units in any interval as long as the window: a whole number; 0 denies every request. */
  limit: units(0) as Field<number>,
  /** Length of the window. */
  window: duration() as Field<Duration, number>,
  /**
   * Length of the blocks: it divides the window, into at most 100 blocks. Default: a tenth of the window, rounded up to
   * a millisecond.
   */
  precision: optional(duration()) as Optional<Duration, number>,
};

export interface SlidingWindowOptions extends Options<typeof SLIDING_WINDOW>, BlockForOption, NameOption {}

const MAX_BLOCKS = 100;

/**
 * Allows at most `limit` units in **any** interval as long as the window. The window is counted in clock-aligned
 * blocks. Units of the newest block are available again a window after the last of them, older ones at most one block
 * late (less than two if the default precision does not divide the window). A key that is quiet for a window is unused.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingWindow(options: SlidingWindowOptions): SlidingWindowPolicy {
  const shape = { ...SLIDING_WINDOW, ...BLOCKING, ...NAMED };
  const settings = readOptions(options, shape, 'slidingWindow', 'SLUICE_POLICY_INVALID');
  const { limit, window, precision, ...common } = settings;
  const precisionMs =
    precision === undefined ? defaultPrecision(window) : checkPrecision(precision, window, options.precision);
  const fields = { ...commonFields(common), limit, windowMs: window, precisionMs };
  return definePolicy(slidingWindowAlgorithm, { algorithm: 'slidingWindow', ...fields });
}

function defaultPrecision(windowMs: number): number {
  return Math.ceil(windowMs / 10);
}

/**
 * The default blocks need not divide the window.
 *
 * @throws PolicyError unless the blocks divide the window, into at most 100, or are the default ones.
 */
function checkPrecision(ms: number, windowMs: number, given: unknown): number {
  const [min, byDefault] = [Math.ceil(windowMs / MAX_BLOCKS), defaultPrecision(windowMs)];
  const code = 'SLUICE_POLICY_INVALID';
  if (ms < min || ms > windowMs) {
    const expected = `at least ${String(min)} ms (a hundredth of the window) and at most the window`;
    throw invalid('precision', expected, given, code);
  }
  if (windowMs % ms === 0 || ms === byDefault) return ms;
  const expected = `a length that divides the window of ${String(windowMs)} ms`;
  throw invalid('precision', expected, given, code, `; ${String(byDefault)} is the default`);
}

const slidingWindowAlgorithm: Algorithm<SlidingWindowPolicy> = /* @__PURE__ */ register({
  name: 'slidingWindow',
  kind: 's',
  family: blocks,
  make: slidingWindow,
  numbers: ({ limit, windowMs, precisionMs }) => [
    limit,
    0,
    0,
    precisionMs,
    Math.ceil(windowMs / precisionMs) * precisionMs,
  ],
  windowMs: ({ windowMs }) => windowMs,
  scale: ({ limit }, share) => ({ limit: shareUnits(limit, share) }),
  describe: ({ limit, windowMs, precisionMs }) =>
    `slidingWindow ${String(limit)} per ${writeDuration(windowMs)}` +
    (precisionMs === defaultPrecision(windowMs) ? '' : `, precision ${writeDuration(precisionMs)}`),
});
