import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import { register } from '../registry.ts';
import {
  healSlots,
  migrateSlots,
  chargeSlots,
  concurrency as kernel,
  releaseSlot,
  renewSlot,
  usedOfSlots,
  type ConcurrencyState,
} from './kernel.ts';
import {
  parseConcurrency,
  writtenConcurrency,
  type ConcurrencyPolicy,
  OPTIONS,
  type ConcurrencyOptions,
} from './policy.ts';
import { decodeSlots, encodeSlots, latestExpiry, liveSlots, summaryOf, unitsOf } from './slot.ts';
import { parseDuration } from '../../values/duration.ts';
import { checkOptions } from '../../values/check-options.ts';

export const concurrencyAlgorithm: Algorithm<ConcurrencyPolicy, ConcurrencyState> = /* @__PURE__ */ register({
  name: 'concurrency',
  kind: 'c',
  kernel,
  unit: 'concurrent-requests',
  refund: releaseSlot,
  charge: chargeSlots,
  renew: renewSlot,
  used: usedOfSlots,
  migrate: migrateSlots,
  heal: healSlots,
  resetAtMs: (_policy, slots) => latestExpiry(slots),
  encode: encodeSlots,
  decode: decodeSlots,
  summarize: summaryOf,
  numbers: ({ limit, ttlMs }) => [limit, ttlMs],
  windowMs: ({ ttlMs }) => ttlMs,
  share: (policy, share) => parseConcurrency({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: { make: concurrency, options: OPTIONS },
  written: writtenConcurrency,
  inspect: (slots, nowMs) => ({ used: unitsOf(liveSlots(slots, nowMs)), resetAtMs: latestExpiry(slots) }),
  split: 'no other instance would know the slots of an instance that is gone: keep this limit in redisStore',
  parse: parseConcurrency,
});

/**
 * Allows at most `limit` requests in flight, at every instant of the store's clock. A request holds a slot until it
 * releases the slot or the slot expires. For {@link Limiter.acquire}, and for adapters, which release the slot when the
 * response ends. `retryAfterMs` of a denial is the time until enough slots expire if none is released.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function concurrency(options: ConcurrencyOptions): ConcurrencyPolicy {
  checkOptions(options, [...Object.keys(OPTIONS), 'name'], 'concurrency');
  return concurrencyAlgorithm.parse({
    algorithm: 'concurrency',
    ...(options.name === undefined ? {} : { name: options.name }),
    limit: options.limit,
    ttlMs: parseDuration(options.ttl, 'ttl'),
  });
}
