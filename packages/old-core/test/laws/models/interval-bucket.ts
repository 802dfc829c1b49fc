import fc from 'fast-check';
import { tokenBucket, type IntervalBucketPolicy, type Policy, type TokenBucketOptions } from '@sluice/old-core';
import { MOST_UNITS, big, ceilDiv, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { LARGEST_LIMIT } from './largest.ts';
import { limits, windows } from './sizes.ts';

/**
 * All units consumed since the bucket was last full, and the instant of the first: every period since then has brought
 * `refill` of them back.
 * Its time never goes back before the last unit.
 */
class IntervalBucketModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly #refill: bigint;
  readonly #everyMs: bigint;
  readonly #overdraft: bigint;
  #consumed = 0n;
  #firstMs = 0n;
  #lastMs = 0n;

  constructor({ capacity, refill, everyMs, overdraft }: IntervalBucketPolicy) {
    this.limit = big(capacity);
    this.#refill = big(refill);
    this.#everyMs = big(everyMs);
    this.#overdraft = big(overdraft);
    this.windowMs = ceilDiv(this.limit, this.#refill) * this.#everyMs;
  }

  fits(cost: bigint, atMs: bigint): boolean {
    const level = this.#levelAt(atMs);
    if (this.#overdraft === 0n) return level >= cost;
    return level >= 1n && level - cost >= -this.#overdraft;
  }

  remaining(atMs: bigint): bigint {
    return greatest(this.#levelAt(atMs), 0n);
  }

  used(atMs: bigint): bigint {
    return this.limit - this.#levelAt(atMs);
  }

  isUnused(atMs: bigint): boolean {
    return this.#levelAt(atMs) === this.limit;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    if (this.isUnused(atMs)) {
      this.#consumed = 0n;
      this.#firstMs = atMs;
      this.#lastMs = atMs;
    }
    this.#consumed += cost;
    this.#lastMs = greatest(this.#lastMs, atMs);
    return 0n;
  }

  refund(cost: bigint, _receipt: Receipt, atMs: bigint): void {
    if (this.isUnused(atMs)) return;
    this.#lastMs = greatest(this.#lastMs, atMs);
    this.#consumed = greatest(this.#consumed - cost, 0n);
    if (this.isUnused(atMs)) this.#consumed = 0n;
  }

  overcharge(cost: bigint, _receipt: Receipt, atMs: bigint): void {
    const missing = this.limit - this.#levelAt(atMs);
    const most = least((MOST_UNITS / this.#everyMs) * this.#refill, MOST_UNITS);
    const more = least(cost, most - missing);
    if (more > 0n) this.charge(more, atMs);
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    this.refund(cost, 0n, atMs);
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    this.overcharge(cost, 0n, atMs);
  }

  #levelAt(atMs: bigint): bigint {
    const periods = (greatest(atMs, this.#lastMs) - this.#firstMs) / this.#everyMs;
    return least(this.limit, this.limit - this.#consumed + periods * this.#refill);
  }
}

const any = fc
  .record({
    capacity: limits,
    refill: limits,
    every: windows,
    overdraft: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 30 }), limits),
  })
  .filter(({ capacity, refill, every, overdraft }) => Math.ceil((capacity + overdraft) / refill) * every < 2 ** 52)
  .map((options): Policy => tokenBucket({ ...options, mode: 'interval' }));

const odd: fc.Arbitrary<Policy> = fc.constantFrom(
  tokenBucket({ capacity: 10, refill: 3, every: '7s', mode: 'interval' }),
  tokenBucket({ capacity: 700_000, refill: 700_000, every: '1s', mode: 'interval' }),
  tokenBucket({ capacity: 3, refill: 1, every: '1d', mode: 'interval' }),
  tokenBucket({ capacity: 100_001, refill: 100_000, every: '30d', mode: 'interval' }),
  tokenBucket({ capacity: 1, refill: LARGEST_LIMIT, every: 1, mode: 'interval' }),
  tokenBucket({ capacity: LARGEST_LIMIT, refill: 1, every: 1, mode: 'interval' }),
  tokenBucket({ capacity: 4, refill: 3, every: 50, overdraft: 9, mode: 'interval' }),
);

export const intervalBucketReference: Reference = {
  algorithm: 'intervalBucket',
  policyOf: (options) => tokenBucket({ ...(options as unknown as TokenBucketOptions), mode: 'interval' }),
  policies: fc.oneof({ weight: 2, arbitrary: any }, { weight: 1, arbitrary: odd }),
  model: (policy) => new IntervalBucketModel(policy as IntervalBucketPolicy),
  refundable: 'always',
  most(policy, spanMs) {
    const { capacity, refill, everyMs, overdraft } = policy as IntervalBucketPolicy;
    return big(capacity) + big(overdraft) + big(refill) * (spanMs / big(everyMs) + 1n);
  },
};
