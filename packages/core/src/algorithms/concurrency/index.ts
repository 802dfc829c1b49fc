import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import {
  healSlots,
  migrateSlots,
  chargeSlots,
  concurrency,
  releaseSlot,
  renewSlot,
  resetAtMs,
  usedOfSlots,
  type ConcurrencyState,
} from './kernel.ts';
import { concurrencyFactory, parseConcurrency, writtenConcurrency, type ConcurrencyPolicy } from './policy.ts';
import { decodeSlots, encodeSlots, latestExpiry, liveSlots, summaryOf, unitsOf } from './slot.ts';

export const concurrencyAlgorithm: Algorithm<ConcurrencyPolicy, ConcurrencyState> = {
  name: 'concurrency',
  kind: 'c',
  kernel: concurrency,
  unit: 'concurrent-requests',
  refund: releaseSlot,
  charge: chargeSlots,
  renew: renewSlot,
  used: usedOfSlots,
  migrate: migrateSlots,
  heal: healSlots,
  resetAtMs,
  encode: encodeSlots,
  decode: decodeSlots,
  summarize: summaryOf,
  numbers: ({ limit, ttlMs }) => [limit, ttlMs],
  windowMs: ({ ttlMs }) => ttlMs,
  share: (policy, share) => parseConcurrency({ ...policy, limit: shareOf(policy.limit, share) }),
  factory: concurrencyFactory,
  written: writtenConcurrency,
  inspect: (slots, nowMs) => ({ used: unitsOf(liveSlots(slots, nowMs)), resetAtMs: latestExpiry(slots) }),
  lease: 'its units are held, and not spent',
  split: 'no other instance would know the slots of an instance that is gone: keep this limit in redisStore',
  parse: parseConcurrency,
};
