import fc from 'fast-check';
import { leakyBucket, type LeakyBucketOptions, type LeakyBucketPolicy, type Policy } from '@sluice/old-core';
import { LARGEST_LIMIT } from './largest.ts';
import { MOST_UNITS, big, ceilDiv, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { limits, windows } from './sizes.ts';

/**
 * A queue: when the next start is free, in units of a `limit`th of a millisecond, so that a unit takes `window` of
 * them. No request starts before it arrives.
 */
class LeakyBucketModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly #perMs: bigint;
  readonly #longest: bigint;
  /** Of `limit` and `window`: what a kernel divides both by. */
  readonly #divisor: bigint;
  #free = 0n;

  constructor({ limit, windowMs, maxDelayMs, q }: LeakyBucketPolicy) {
    this.windowMs = big(windowMs);
    this.#perMs = big(limit);
    this.#longest = big(maxDelayMs) * this.#perMs;
    this.#divisor = this.windowMs / big(q);
    this.limit = this.remaining(0n);
  }

  fits(cost: bigint, atMs: bigint): boolean {
    return this.#waitOf(cost, atMs) <= this.#longest;
  }

  remaining(atMs: bigint): bigint {
    const rest = this.#longest - this.#waitOf(1n, atMs);
    return rest < 0n ? 0n : rest / this.windowMs + 1n;
  }

  used(atMs: bigint): bigint {
    return least(ceilDiv(greatest(this.#free - atMs * this.#perMs, 0n), this.windowMs), MOST_UNITS);
  }

  delay(atMs: bigint): bigint {
    return ceilDiv(this.#waitOf(1n, atMs), this.#perMs);
  }

  isUnused(atMs: bigint): boolean {
    return this.#free <= atMs * this.#perMs;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    this.#free = greatest(this.#free, atMs * this.#perMs) + cost * this.windowMs;
    return ceilDiv(this.#free, this.#perMs);
  }

  /** From the end of the queue alone, which is reported in whole milliseconds. */
  refund(cost: bigint, receipt: Receipt, atMs: bigint): void {
    if (this.isUnused(atMs) || ceilDiv(this.#free, this.#perMs) !== receipt) return;
    this.#free -= cost * this.windowMs;
    if (this.isUnused(atMs)) this.#free = 0n;
  }

  overcharge(cost: bigint, _receipt: Receipt, atMs: bigint): void {
    const ahead = greatest(this.#free - atMs * this.#perMs, 0n);
    const more = least(cost, (MOST_UNITS * this.#divisor - ahead) / this.windowMs);
    if (more > 0n) this.charge(more, atMs);
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    this.refund(cost, ceilDiv(this.#free, this.#perMs), atMs);
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    this.overcharge(cost, 0n, atMs);
  }

  /** The wait until the last of these units starts. */
  #waitOf(cost: bigint, atMs: bigint): bigint {
    return greatest(this.#free - atMs * this.#perMs, 0n) + (cost - 1n) * this.windowMs;
  }
}

const any = fc
  .record({
    limit: limits,
    window: windows,
    maxDelay: fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 99 }), windows),
  })
  .filter(({ limit, window, maxDelay }) => 3 * maxDelay * limit + 2 * window < 2 ** 53)
  .filter(({ limit, window, maxDelay }) => (maxDelay * limit) / window < LARGEST_LIMIT / 2)
  .map((options): Policy => leakyBucket(options));

/** Paces that are not whole numbers of milliseconds, several units a millisecond, and the longest possible queues. */
const odd: fc.Arbitrary<Policy> = fc.constantFrom(
  leakyBucket({ limit: 10, window: '1s', maxDelay: '2s' }),
  leakyBucket({ limit: 3, window: '7s', maxDelay: '30s' }),
  leakyBucket({ limit: 3, window: '7s', maxDelay: 0 }),
  leakyBucket({ limit: 700_000, window: '1s', maxDelay: 5 }),
  leakyBucket({ limit: 2, window: 3, maxDelay: 1 }),
  leakyBucket({ limit: 99_991, window: '30d', maxDelay: '1h' }),
  leakyBucket({ limit: 1, window: '36500d', maxDelay: '36500d' }),
  leakyBucket({ limit: 1, window: 1, maxDelay: '36500d' }),
  leakyBucket({ limit: LARGEST_LIMIT, window: 1, maxDelay: 0 }),
  leakyBucket({ limit: 1_000, window: 1_000, maxDelay: 7 }),
);

export const leakyBucketReference: Reference = {
  algorithm: 'leakyBucket',
  policyOf: (options) => leakyBucket(options as unknown as LeakyBucketOptions),
  policies: fc.oneof({ weight: 2, arbitrary: any }, { weight: 1, arbitrary: odd }),
  model: (policy) => new LeakyBucketModel(policy as LeakyBucketPolicy),
  refundable: 'in-window',
  most(policy, spanMs) {
    const { limit, windowMs, maxDelayMs } = policy as LeakyBucketPolicy;
    // The first started no earlier than it arrived, the last no later than allowed.
    return (big(limit) * (spanMs + big(maxDelayMs))) / big(windowMs) + 1n;
  },
};
