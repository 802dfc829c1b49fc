import { parseDuration, writtenDuration, type Duration } from '../../values/duration.ts';
import { PolicyError } from '../../errors.ts';
import { ownName } from '../../values/name.ts';
import { gcd, LARGEST_LIMIT, parseUnits } from '../../values/numbers.ts';
import type { Factory, PolicyBase } from '../algorithm.ts';
import { LIMIT, WINDOW, perWindow } from '../written.ts';

/** `limit` starts per window, at equal distances. A request that would wait longer than `maxDelayMs` is denied. */
export interface LeakyBucketPolicy extends PolicyBase {
  readonly algorithm: 'leakyBucket';
  readonly limit: number;
  readonly windowMs: number;
  readonly maxDelayMs: number;
  /** `limit` per `windowMs` in lowest terms: `p` units per `q` milliseconds. */
  readonly p: number;
  readonly q: number;
}

export interface LeakyBucketOptions {
  /** Units that start per window, one by one, evenly: a whole number, at least 1. */
  limit: number;
  window: Duration;
  /** The longest wait of a unit for its start. `0`: a request that would have to wait is denied. */
  maxDelay: Duration;
  /** Appears in header fields and keys. Default: the name of the limiter. */
  name?: string;
}

export const OPTIONS: Factory['options'] = {
  limit: LIMIT,
  window: WINDOW,
  maxDelay: {
    placeholder: 'duration',
    description: 'the longest that a unit may wait for its start; 0: no request waits',
  },
};

export function parseLeakyBucket(policy: LeakyBucketPolicy): LeakyBucketPolicy {
  const { name } = policy;
  const limit = parseUnits(policy.limit, 'limit');
  const windowMs = parseDuration(policy.windowMs, 'windowMs');
  const maxDelayMs = parseDuration(policy.maxDelayMs, 'maxDelayMs', undefined, 0);
  const divisor = gcd(limit, windowMs);
  const [p, q] = [limit / divisor, windowMs / divisor];
  const atOnce = unitsAtOnce({ maxDelayMs, p, q });
  // Waits are counted in 1/p ms. The longest wait, and as many units more, must be an exact double.
  if (maxDelayMs * p + 2 * q * atOnce >= 2 ** 53 || atOnce > LARGEST_LIMIT) {
    const longest = Math.floor(Math.min((2 ** 53 - 1 - 2 * q) / 3, (LARGEST_LIMIT - 1) * q) / p);
    throw new PolicyError(
      'maxDelay',
      `maxDelay ${String(maxDelayMs)} ms at ${String(p)} per ${String(q)} ms is too large to be counted exactly; at most ${String(longest)} ms`,
    );
  }
  return Object.freeze({
    algorithm: 'leakyBucket',
    ...ownName(name),
    limit,
    windowMs,
    maxDelayMs,
    p,
    q,
  });
}

/** Units that an unused key allows: one that starts at once, and all that start within the longest wait. */
export function unitsAtOnce({ maxDelayMs, p, q }: Pick<LeakyBucketPolicy, 'maxDelayMs' | 'p' | 'q'>): number {
  return Math.floor((maxDelayMs * p) / q) + 1;
}

/** The same units at a slower rate. That is exact; a share of `limit` is rarely a whole number. */
export function shareLeakyBucket(policy: LeakyBucketPolicy, share: number): LeakyBucketPolicy {
  return parseLeakyBucket({ ...policy, windowMs: Math.ceil(policy.windowMs / share) });
}

export function writtenLeakyBucket(policy: LeakyBucketPolicy): string {
  return `leakyBucket ${perWindow(policy)}, max delay ${writtenDuration(policy.maxDelayMs)}`;
}
