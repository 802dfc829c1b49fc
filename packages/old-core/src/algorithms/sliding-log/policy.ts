import { parseDuration, type Duration } from '../../values/duration.ts';
import { PolicyError, shown } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { parseUnits } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` units in any interval of `windowMs`, each stored by its instant. */
export interface SlidingLogPolicy extends PolicyBase {
  readonly algorithm: 'slidingLog';
  readonly limit: number;
  readonly windowMs: number;
}

export interface SlidingLogOptions {
  /** Units in any interval as long as the window: a whole number from 0 to 999 999; 0 denies every request. */
  limit: number;
  window: Duration;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

/** Instants are packed with a count of six digits. */
export const LARGEST_LOG = 999_999;

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  window: WINDOW,
};

export function parseSlidingLog(policy: SlidingLogPolicy): SlidingLogPolicy {
  const { name } = policy;
  const { limit: given } = policy as { readonly limit: unknown };
  if (typeof given === 'number' && given > LARGEST_LOG) {
    throw new PolicyError(
      'limit',
      `limit of a slidingLog must be a whole number from 0 to ${String(LARGEST_LOG)}, got ${shown(given)}: it remembers every unit; use slidingWindow, which remembers a few numbers`,
    );
  }
  const limit = parseUnits(given, 'limit', 0, LARGEST_LOG);
  return Object.freeze({
    algorithm: 'slidingLog',
    ...ownName(name),
    limit,
    windowMs: parseDuration(policy.windowMs, 'windowMs'),
  });
}

export function writtenSlidingLog(policy: SlidingLogPolicy): string {
  return `slidingLog ${perWindow(policy)}`;
}
