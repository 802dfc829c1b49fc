import type { Algorithm } from '../algorithm.ts';
import {
  chargeTokenBucket,
  carryTokenBucket,
  decodeTokenBucket,
  encodeTokenBucket,
  refundTokenBucket,
  resetAtMs,
  tokenBucket,
  usedOfTokenBucket,
  type TokenBucketState,
} from './kernel.ts';
import { parseTokenBucket, shareTokenBucket, type TokenBucketPolicy } from './policy.ts';

export const tokenBucketAlgorithm: Algorithm<TokenBucketPolicy, TokenBucketState> = {
  name: 'tokenBucket',
  kind: 't',
  kernel: tokenBucket,
  refund: refundTokenBucket,
  charge: chargeTokenBucket,
  used: usedOfTokenBucket,
  carry: carryTokenBucket,
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
  parse: parseTokenBucket,
};
