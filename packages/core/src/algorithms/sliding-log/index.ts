import { shareOf } from '../../numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import {
  carrySlidingLog,
  chargeSlidingLog,
  refundSlidingLog,
  resetAtMs,
  slidingLog,
  usedOfSlidingLog,
  type SlidingLogState,
} from './kernel.ts';
import { decodeLog, encodeLog, outlineOf } from './log.ts';
import { parseSlidingLog, type SlidingLogPolicy } from './policy.ts';

export const slidingLogAlgorithm: Algorithm<SlidingLogPolicy, SlidingLogState> = {
  name: 'slidingLog',
  kind: 'l',
  kernel: slidingLog,
  refund: refundSlidingLog,
  charge: chargeSlidingLog,
  used: usedOfSlidingLog,
  carry: carrySlidingLog,
  resetAtMs,
  encode: encodeLog,
  decode: decodeLog,
  outline: outlineOf,
  numbers: ({ limit, windowMs }) => [limit, windowMs],
  windowMs: ({ windowMs }) => windowMs,
  share: (policy, share) => parseSlidingLog({ ...policy, limit: shareOf(policy.limit, share) }),
  parse: parseSlidingLog,
};
