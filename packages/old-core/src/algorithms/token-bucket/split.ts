import { isSluiceError } from '../../errors.ts';
import type { PolicyPart, SplitParts } from '../algorithm.ts';
import { parseTokenBucket, type TokenBucketPolicy } from './policy.ts';

export const splitTokenBucket: SplitParts<TokenBucketPolicy> = {
  part: bucketOf,
  outlastsMs: fillMs,
  statesDependOnPart: true,
};

/**
 * The time in which the emptiest bucket of any member is full again. Each has up to one unit more than its part by
 * rounding, and the lightest one takes longest to pay for that.
 */
function fillMs(
  { capacity, overdraft, refill, everyMs }: TokenBucketPolicy,
  { total, lightest }: { readonly total: number; readonly lightest: number },
): number {
  return Math.ceil(((capacity + overdraft + total / lightest) * everyMs) / refill) + 1;
}

/**
 * A bucket that is such a part: exact where it can be, else at a slower pace; undefined where it cannot be counted at
 * all.
 */
function bucketOf(
  whole: TokenBucketPolicy,
  { units: capacity, weight, total }: PolicyPart,
): TokenBucketPolicy | undefined {
  if (capacity === 0 || weight === 0) return undefined;
  const [part, all] = [BigInt(weight), BigInt(total)];
  const own = { ...whole, capacity, overdraft: Number((BigInt(whole.overdraft) * part) / all) };
  const [refill, everyMs] = lowest(BigInt(whole.refill) * part, BigInt(whole.everyMs) * all);
  const slower = (BigInt(whole.everyMs) * all + part - 1n) / part;
  return (
    countable({ ...own, refill: Number(refill), everyMs: Number(everyMs) }) ??
    countable({ ...own, everyMs: Number(slower) })
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
