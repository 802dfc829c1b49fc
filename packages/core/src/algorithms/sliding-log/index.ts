import { shareOf } from '../../values/numbers.ts';
import type { Algorithm } from '../algorithm.ts';
import {
  migrateSlidingLog,
  chargeSlidingLog,
  refundSlidingLog,
  resetAtMs,
  slidingLog,
  usedOfSlidingLog,
  type SlidingLogState,
} from './kernel.ts';
import { decodeLog, encodeLog, summaryOf } from './log.ts';
import { parseSlidingLog, slidingLogFactory, writtenSlidingLog, type SlidingLogPolicy } from './policy.ts';

export const slidingLogAlgorithm: Algorithm<SlidingLogPolicy, SlidingLogState> = {
  name: 'slidingLog',
  kind: 'l',
  kernel: slidingLog,
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
  factory: slidingLogFactory,
  written: writtenSlidingLog,
  lease: 'it remembers when each unit was spent, and of a slice that is not known',
  split: 'an instance would deny what fits, for want of a share: use slidingWindow, or keep this limit in redisStore',
  parse: parseSlidingLog,
};
