import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import {
  migrateSlidingLog,
  chargeSlidingLog,
  refundSlidingLog,
  resetAtMs,
  slidingLog as kernel,
  usedOfSlidingLog,
  type SlidingLogState,
} from './kernel.ts';
import { decodeLog, encodeLog, summaryOf } from './log.ts';
import {
  parseSlidingLog,
  writtenSlidingLog,
  type SlidingLogPolicy,
  OPTIONS,
  type SlidingLogOptions,
} from './policy.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';

export const slidingLogAlgorithm: Algorithm<SlidingLogPolicy, SlidingLogState> = /* @__PURE__ */ register({
  name: 'slidingLog',
  kind: 'l',
  kernel,
  refund: refundSlidingLog,
  charge: chargeSlidingLog,
  used: usedOfSlidingLog,
  migrate: migrateSlidingLog,
  resetAtMs,
  encode: encodeLog,
  decode: decodeLog,
  summarize: summaryOf,
  numbers: ({ limit, windowMs }) => [limit, windowMs],
  windowMs: ({ windowMs }) => windowMs,
  share: (policy, share) => parseSlidingLog({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: { make: slidingLog, options: OPTIONS },
  written: writtenSlidingLog,
  split: 'an instance would deny what fits, for want of a share: use slidingWindow, or keep this limit in redisStore',
  parse: parseSlidingLog,
});

/**
 * Allows at most `limit` units in **any** interval as long as the window, and never denies what fits: every unit is
 * available again exactly one window after it was consumed. The state has each instant at which units were consumed, at
 * most `limit` of them, about 10 bytes of Redis each; denied units store nothing. {@link slidingWindow} has the same
 * bound in constant memory, and makes units of clients that keep asking available up to a tenth of the window later.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function slidingLog(options: SlidingLogOptions): SlidingLogPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'slidingLog');
  return slidingLogAlgorithm.parse({
    algorithm: 'slidingLog',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    windowMs: parseDuration(options.window, 'window'),
  });
}
