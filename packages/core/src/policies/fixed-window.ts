import { window } from '../program/window.ts';
import { writeDuration, type Duration } from '../values/duration.ts';
import {
  duration,
  oneOf,
  readOptions,
  withDefault,
  type Field,
  type Options,
  type WithDefault,
} from '../values/shape.ts';
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

/** `limit` units per window of `windowMs`. */
export interface FixedWindowPolicy extends PolicyBase {
  readonly algorithm: 'fixedWindow';
  readonly limit: number;
  readonly windowMs: number;
  readonly align: 'first-hit' | 'clock';
}

const FIXED_WINDOW = {
  /** Units per window: a whole number; 0 denies every request. */
  limit: units(0) as Field<number>,
  /** Length of the windows. */
  window: duration() as Field<Duration, number>,
  /**
   * The start of windows: `first-hit` is the first unit of a key; `clock` is a whole multiple of `window` since 1970
   * (UTC), the same for every key. Default `first-hit`.
   */
  align: withDefault(oneOf(['first-hit', 'clock']), 'first-hit') as WithDefault<'first-hit' | 'clock'>,
};

export interface FixedWindowOptions extends Options<typeof FIXED_WINDOW>, BlockForOption, NameOption {}

/**
 * Allows at most `limit` units per window. An interval of the same length that spans two windows can contain up to
 * `2 * limit - 1` units (`2 * limit` with `align: 'clock'`); {@link slidingWindow} prevents that. Later units never
 * move the end of a window. The state is a few numbers per key.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function fixedWindow(options: FixedWindowOptions): FixedWindowPolicy {
  const shape = { ...FIXED_WINDOW, ...BLOCKING, ...NAMED };
  const { limit, window, align, ...common } = readOptions(options, shape, 'fixedWindow', 'SLUICE_POLICY_INVALID');
  const fields = { ...commonFields(common), limit, windowMs: window, align };
  return definePolicy(fixedWindowAlgorithm, { algorithm: 'fixedWindow', ...fields });
}

const fixedWindowAlgorithm: Algorithm<FixedWindowPolicy> = /* @__PURE__ */ register({
  name: 'fixedWindow',
  kind: 'f',
  family: window,
  make: fixedWindow,
  numbers: ({ limit, windowMs, align }) => [limit, 0, 0, windowMs, align === 'clock' ? 1 : 0],
  windowMs: ({ windowMs }) => windowMs,
  scale: ({ limit }, share) => ({ limit: shareUnits(limit, share) }),
  describe: ({ limit, windowMs, align }) =>
    `fixedWindow ${String(limit)} per ${writeDuration(windowMs)}${align === 'clock' ? ', align clock' : ''}`,
});
