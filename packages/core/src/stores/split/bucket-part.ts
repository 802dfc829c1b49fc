import { parseTokenBucket, type TokenBucketPolicy } from '../../algorithms/token-bucket/policy.ts';
import { isSluiceError } from '../../errors.ts';
import { isLess, type KnownEpoch, type KnownEpochs } from './known-epochs.ts';
import { floorShare } from './shares.ts';

/** A member's part of a bucket: whole units of what it holds, and that part of its pace. */
export interface BucketPart {
  readonly capacity: number;
  readonly overdraft: number;
  readonly weight: number;
  readonly total: number;
}

/** This instance's part in one epoch. */
export function bucketPart(whole: TokenBucketPolicy, epoch: KnownEpoch, epochs: KnownEpochs): BucketPart {
  const { weight, total } = epoch;
  return {
    capacity: epochs.shareOf(whole.capacity, epoch),
    overdraft: floorShare(whole.overdraft, weight, total),
    weight,
    total,
  };
}

/** In everything the smaller of two parts. */
export function smallerPart(one: BucketPart, other: BucketPart | undefined): BucketPart {
  if (other === undefined) return one;
  const { weight, total } = isLess(one, other) ? one : other;
  return {
    capacity: Math.min(one.capacity, other.capacity),
    overdraft: Math.min(one.overdraft, other.overdraft),
    weight,
    total,
  };
}

/**
 * The time in which the emptiest bucket of any member is full again. Each has up to one unit more than its part by
 * rounding, and the lightest one takes longest to pay for that.
 */
export function fillMs(
  { capacity, overdraft, refill, everyMs }: TokenBucketPolicy,
  { total, lightest }: KnownEpoch,
): number {
  return Math.ceil(((capacity + overdraft + total / lightest) * everyMs) / refill) + 1;
}

/** A bucket that is such a part: exact where it can be, else at a slower pace; undefined where it cannot be counted at all. */
export function bucketOf(
  whole: TokenBucketPolicy,
  { capacity, overdraft, weight, total }: BucketPart,
): TokenBucketPolicy | undefined {
  if (capacity === 0 || weight === 0) return undefined;
  const [refill, everyMs] = lowest(BigInt(whole.refill) * BigInt(weight), BigInt(whole.everyMs) * BigInt(total));
  const slower = (BigInt(whole.everyMs) * BigInt(total) + BigInt(weight) - 1n) / BigInt(weight);
  return (
    countable({ ...whole, capacity, overdraft, refill: Number(refill), everyMs: Number(everyMs) }) ??
    countable({ ...whole, capacity, overdraft, everyMs: Number(slower) })
  );
}

function countable(policy: TokenBucketPolicy): TokenBucketPolicy | undefined {
  try {
    return parseTokenBucket(policy);
  } catch (error) {
    if (isSluiceError(error)) return undefined;
    throw error;
  }
}

/** Refill and span in lowest terms, so that they stay within what a policy may say. */
function lowest(refill: bigint, everyMs: bigint): readonly [refill: bigint, everyMs: bigint] {
  let [a, b] = [refill, everyMs];
  while (b !== 0n) [a, b] = [b, a % b];
  return [refill / a, everyMs / a];
}
