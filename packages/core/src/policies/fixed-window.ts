import { window } from '../program/window.ts';
import { oneOf, withDefault, type Options, type WithDefault } from '../values/shape.ts';
import { describeWindow, BLOCKING, makePolicy, NAMED, register, WINDOW } from './rule.ts';
import type { Algorithm, WindowOptions, WindowPolicy } from './rule.ts';

/** `limit` units per window of `windowMs`. */
export interface FixedWindowPolicy extends WindowPolicy {
  readonly algorithm: 'fixedWindow';
  readonly align: 'first-hit' | 'clock';
}

const ALIGN = {
  /**
   * When windows start: `first-hit`, at the first unit of a key; `clock`, at whole multiples of `window` since 1970
   * (UTC), the same for every key. Default `first-hit`.
   */
  align: withDefault(oneOf(['first-hit', 'clock']), 'first-hit') as WithDefault<'first-hit' | 'clock'>,
};

export interface FixedWindowOptions extends WindowOptions, Options<typeof ALIGN> {}

/**
 * Allows at most `limit` units per window. An interval of the same length that spans two windows can contain up to
 * `2 * limit - 1` units (`2 * limit` with `align: 'clock'`); {@link slidingWindow} prevents that. Later units never
 * move the end of a window. The state is a few numbers per key.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function fixedWindow(options: FixedWindowOptions): FixedWindowPolicy {
  return makePolicy(algorithm, options);
}

const algorithm: Algorithm<FixedWindowPolicy> = /* @__PURE__ */ register<FixedWindowPolicy>(fixedWindow, {
  name: 'fixedWindow',
  kind: 'f',
  family: window,
  shape: [WINDOW, ALIGN, BLOCKING, NAMED],
  numbers: ({ limit, windowMs, align }) => [limit, 0, 0, windowMs, align === 'clock' ? 1 : 0],
  describe: (policy) => `${describeWindow(policy)}${policy.align === 'clock' ? ', align clock' : ''}`,
});
