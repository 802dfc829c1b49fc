import fc from 'fast-check';
import { tokenBucket, type Policy, type TokenBucketOptions, type TokenBucketPolicy } from '@sluice/old-core';
import {
  MOST_UNITS,
  big,
  ceilDiv,
  floorDiv,
  greatest,
  least,
  type Model,
  type Receipt,
  type Reference,
} from './model.ts';
import { LARGEST_LIMIT } from './largest.ts';
import { limits, windows } from './sizes.ts';

/**
 * An exact rational level at an instant: units times `every`, so that a millisecond brings `refill` of them. When the
 * clock goes back, the bucket is as much emptier as it was then.
 */
class TokenBucketModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly #refill: bigint;
  readonly #everyMs: bigint;
  readonly #overdraft: bigint;
  /** Of `refill` and `every`: what a kernel divides both by. */
  readonly #divisor: bigint;
  #level: bigint;
  #lastMs = 0n;

  constructor({ capacity, refill, everyMs, overdraft, q }: TokenBucketPolicy) {
    this.limit = big(capacity);
    this.#refill = big(refill);
    this.#everyMs = big(everyMs);
    this.#overdraft = big(overdraft);
    this.#divisor = this.#everyMs / big(q);
    this.windowMs = ceilDiv(this.limit * this.#everyMs, this.#refill);
    this.#level = this.limit * this.#everyMs;
  }

  fits(cost: bigint, atMs: bigint): boolean {
    const level = this.#levelAt(atMs);
    if (this.#overdraft === 0n) return level >= cost * this.#everyMs;
    return level >= this.#everyMs && level - cost * this.#everyMs >= -this.#overdraft * this.#everyMs;
  }

  remaining(atMs: bigint): bigint {
    return greatest(this.#levelAt(atMs), 0n) / this.#everyMs;
  }

  used(atMs: bigint): bigint {
    return least(this.limit - floorDiv(this.#levelAt(atMs), this.#everyMs), MOST_UNITS);
  }

  isUnused(atMs: bigint): boolean {
    return this.#levelAt(atMs) === this.limit * this.#everyMs;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    this.#level = this.#levelAt(atMs) - cost * this.#everyMs;
    this.#lastMs = atMs;
    return 0n;
  }

  refund(cost: bigint, _receipt: Receipt, atMs: bigint): void {
    if (this.isUnused(atMs)) return;
    this.#level = least(this.#levelAt(atMs) + cost * this.#everyMs, this.limit * this.#everyMs);
    this.#lastMs = atMs;
  }

  overcharge(cost: bigint, _receipt: Receipt, atMs: bigint): void {
    const level = this.#levelAt(atMs);
    const owed = this.limit * this.#everyMs - level;
    const more = least(cost, (MOST_UNITS * this.#divisor - owed) / this.#everyMs);
    if (more <= 0n) return;
    this.#level = level - more * this.#everyMs;
    this.#lastMs = atMs;
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    this.refund(cost, 0n, atMs);
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    this.overcharge(cost, 0n, atMs);
  }

  #levelAt(atMs: bigint): bigint {
    const full = this.limit * this.#everyMs;
    // A full bucket has no state, so a clock that goes back has no effect.
    return this.#level === full ? full : least(full, this.#level + this.#refill * (atMs - this.#lastMs));
  }
}

const any = fc
  .record({
    capacity: limits,
    refill: limits,
    every: windows,
    overdraft: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }), limits),
  })
  .filter(({ capacity, every, overdraft }) => (capacity + overdraft) * every < 2 ** 52)
  .map((options): Policy => tokenBucket(options));

/** Rates that are not whole numbers per millisecond, nor milliseconds per unit, and the largest there are. */
const odd: fc.Arbitrary<Policy> = fc.constantFrom(
  tokenBucket({ capacity: 10, refill: 3, every: '7s' }),
  tokenBucket({ capacity: 1_000, refill: 700_000, every: '1s' }),
  tokenBucket({ capacity: 3, refill: 1, every: '1d' }),
  tokenBucket({ capacity: 100, refill: 100_000, every: '30d' }),
  tokenBucket({ capacity: 1_000_000, refill: 99_991, every: '30d' }),
  tokenBucket({ capacity: 20, refill: 99_991, every: '30d', overdraft: 7 }),
  tokenBucket({ capacity: 1, refill: 1, every: 1 }),
  tokenBucket({ capacity: 1, refill: 1, every: '36500d' }),
  tokenBucket({ capacity: 7, refill: LARGEST_LIMIT, every: 1 }),
  tokenBucket({ capacity: LARGEST_LIMIT, refill: LARGEST_LIMIT, every: 2 }),
  tokenBucket({ capacity: 1, refill: 1, every: 10, overdraft: 4e14 }),
);

export const tokenBucketReference: Reference = {
  algorithm: 'tokenBucket',
  policyOf: (options) => tokenBucket(options as unknown as TokenBucketOptions),
  policies: fc.oneof({ weight: 2, arbitrary: any }, { weight: 1, arbitrary: odd }),
  model: (policy) => new TokenBucketModel(policy as TokenBucketPolicy),
  refundable: 'always',
  most(policy, spanMs) {
    const { capacity, refill, everyMs, overdraft } = policy as TokenBucketPolicy;
    return big(capacity) + big(overdraft) + (big(refill) * spanMs) / big(everyMs);
  },
};
