import { shareOf } from '../../numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import {
  carrySlots,
  chargeSlots,
  concurrency,
  releaseSlot,
  renewSlot,
  resetAtMs,
  usedOfSlots,
  type ConcurrencyState,
} from './kernel.ts';
import { parseConcurrency, type ConcurrencyPolicy } from './policy.ts';
import { decodeSlots, encodeSlots, outlineOf } from './slot.ts';

export const concurrencyAlgorithm: Algorithm<ConcurrencyPolicy, ConcurrencyState> = {
  name: 'concurrency',
  kind: 'c',
  kernel: concurrency,
  unit: 'concurrent-requests',
  refund: releaseSlot,
  charge: chargeSlots,
  renew: renewSlot,
  used: usedOfSlots,
  carry: carrySlots,
  resetAtMs,
  encode: encodeSlots,
  decode: decodeSlots,
  outline: outlineOf,
  numbers: ({ limit, ttlMs }) => [limit, ttlMs],
  windowMs: ({ ttlMs }) => ttlMs,
  share: (policy, share) => parseConcurrency({ ...policy, limit: shareOf(policy.limit, share) }),
  parse: parseConcurrency,
};
