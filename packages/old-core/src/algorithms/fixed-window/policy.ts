import { parseDuration, type Duration } from '../../values/duration.ts';
import { PolicyError, shown } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { parseUnits } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` units per window of `windowMs`. */
export interface FixedWindowPolicy extends PolicyBase {
  readonly algorithm: 'fixedWindow';
  readonly limit: number;
  readonly windowMs: number;
  readonly align: 'first-hit' | 'clock';
  /** True, or left out. */
  readonly countDenied?: boolean;
}

export interface FixedWindowOptions {
  /** Units per window: a whole number; 0 denies every request. */
  limit: number;
  window: Duration;
  /**
   * The start of windows: `first-hit` (default) is the first unit of a key; `clock` is a whole multiple of `window`
   * since 1970 (UTC), the same for every key.
   */
  align?: 'first-hit' | 'clock';
  /**
   * Whether a request that this policy itself denies adds its cost too, up to 2^52 units, so that `used` passes the
   * limit. It never moves the end of the window. Every denial is then a call of the store. Default false.
   */
  countDenied?: boolean;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  window: WINDOW,
  align: { placeholder: 'where', description: 'where windows begin: first-hit (default) or clock' },
  countDenied: { placeholder: 'whether', description: 'true: requests that it denies count too (default: false)' },
};

export function parseFixedWindow(policy: FixedWindowPolicy): FixedWindowPolicy {
  const { name, limit, windowMs } = policy;
  const countDenied: unknown = policy.countDenied ?? false;
  const align: string = policy.align;
  if (align !== 'first-hit' && align !== 'clock') {
    throw new PolicyError('align', `align must be "first-hit" or "clock", got ${shown(align)}`);
  }
  if (typeof countDenied !== 'boolean') {
    throw new PolicyError('countDenied', `countDenied must be true or false, got ${shown(countDenied)}`);
  }
  return Object.freeze({
    algorithm: 'fixedWindow',
    ...ownName(name),
    limit: parseUnits(limit, 'limit', 0),
    windowMs: parseDuration(windowMs, 'windowMs'),
    align,
    ...(countDenied ? { countDenied } : {}),
  });
}

export function writtenFixedWindow(policy: FixedWindowPolicy): string {
  const { align, countDenied } = policy;
  return `fixedWindow ${perWindow(policy)}${align === 'clock' ? ', align clock' : ''}${countDenied === true ? ', count denied' : ''}`;
}
