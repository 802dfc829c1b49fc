import type { Algorithm } from '../algorithm.ts';
import { untilInstant } from '../instant-and-field.ts';
import { writtenBucket } from '../written.ts';
import {
  chargeTokenBucket,
  migrateTokenBucket,
  decodeTokenBucket,
  encodeTokenBucket,
  refundTokenBucket,
  resetAtMs,
  tokenBucket,
  usedOfTokenBucket,
  type TokenBucketState,
} from './kernel.ts';
import { leaseTokenBucket } from './lease.ts';
import { parseTokenBucket, shareTokenBucket, tokenBucketFactory, type TokenBucketPolicy } from './policy.ts';
import { splitTokenBucket } from './split.ts';

export const tokenBucketAlgorithm: Algorithm<TokenBucketPolicy, TokenBucketState> = {
  name: 'tokenBucket',
  kind: 't',
  kernel: tokenBucket,
  refund: refundTokenBucket,
  charge: chargeTokenBucket,
  used: usedOfTokenBucket,
  migrate: migrateTokenBucket,
  resetAtMs,
  packing: {
    first: ({ fullAtMs }) => fullAtMs,
    second: ({ part }) => part,
    unpack: (_policy, fullAtMs, part) => ({ fullAtMs, part }),
  },
  encode: encodeTokenBucket,
  decode: decodeTokenBucket,
  numbers: ({ capacity, p, q, overdraft }) => [capacity, p, q, overdraft],
  windowMs: ({ capacity, p, q }) => Math.ceil((capacity * q) / p),
  share: shareTokenBucket,
  factory: tokenBucketFactory,
  written: writtenBucket,
  inspect: ({ fullAtMs, part }, nowMs) => untilInstant(fullAtMs, part, nowMs),
  lease: leaseTokenBucket,
  split: splitTokenBucket,
  parse: parseTokenBucket,
};
