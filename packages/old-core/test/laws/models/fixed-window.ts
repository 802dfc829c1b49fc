import fc from 'fast-check';
import { fixedWindow, type FixedWindowOptions, type FixedWindowPolicy, type Policy } from '@sluice/old-core';
import { MOST_UNITS, big, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { limitsOrNone, windows } from './sizes.ts';

/** Keeps the charges per window, by the end of the window. The last window opened counts until it ends. */
class FixedWindowModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly countsDenied: boolean;
  readonly #onTheClock: boolean;
  readonly #usedByEnd = new Map<bigint, bigint>();
  #lastEndMs = 0n;

  constructor({ limit, windowMs, align, countDenied = false }: FixedWindowPolicy) {
    this.countsDenied = countDenied;
    this.limit = big(limit);
    this.windowMs = big(windowMs);
    this.#onTheClock = align === 'clock';
  }

  fits(cost: bigint, atMs: bigint): boolean {
    return cost <= this.limit - this.used(atMs);
  }

  remaining(atMs: bigint): bigint {
    return greatest(this.limit - this.used(atMs), 0n);
  }

  isUnused(atMs: bigint): boolean {
    return atMs >= this.#lastEndMs;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    const used = this.used(atMs);
    if (atMs >= this.#lastEndMs) this.#lastEndMs = this.#endOfWindowOpenedAt(atMs);
    this.#usedByEnd.set(this.#lastEndMs, used + cost);
    return this.#lastEndMs;
  }

  refund(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const used = this.#usedByEnd.get(receipt);
    if (receipt === this.#lastEndMs && atMs < receipt && used !== undefined)
      this.#usedByEnd.set(receipt, greatest(used - cost, 0n));
  }

  overcharge(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const used = this.#usedByEnd.get(receipt);
    if (receipt === this.#lastEndMs && atMs < receipt && used !== undefined)
      this.#usedByEnd.set(receipt, least(used + cost, MOST_UNITS));
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    this.refund(cost, this.#lastEndMs, atMs);
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    const more = least(cost, MOST_UNITS - this.used(atMs));
    if (more > 0n) this.charge(more, atMs);
  }

  used(atMs: bigint): bigint {
    return atMs < this.#lastEndMs ? (this.#usedByEnd.get(this.#lastEndMs) ?? 0n) : 0n;
  }

  #endOfWindowOpenedAt(atMs: bigint): bigint {
    return atMs + this.windowMs - (this.#onTheClock ? atMs % this.windowMs : 0n);
  }
}

/** Policies that count what they deny. */
export const countingPolicies: fc.Arbitrary<Policy> = fc
  .record({
    limit: limitsOrNone,
    window: windows,
    align: fc.constantFrom<'first-hit' | 'clock'>('first-hit', 'clock'),
  })
  .map((options): Policy => fixedWindow({ ...options, countDenied: true }));

export const fixedWindowReference: Reference = {
  algorithm: 'fixedWindow',
  policyOf: (options) => fixedWindow(options as unknown as FixedWindowOptions),
  policies: fc
    .record({
      limit: limitsOrNone,
      window: windows,
      align: fc.constantFrom<'first-hit' | 'clock'>('first-hit', 'clock'),
    })
    .map((options): Policy => fixedWindow(options)),
  model: (policy) => new FixedWindowModel(policy as FixedWindowPolicy),
  refundable: 'in-window',
  most(policy, spanMs, refunds) {
    const { limit, windowMs, align } = policy as FixedWindowPolicy;
    // A span of n windows can touch n + 2 of them. Counted from the first unit, the first window begins with a unit
    // outside the span, unless that was refunded.
    const outside = align === 'clock' || refunds ? 0n : 1n;
    return big(limit) * (spanMs / big(windowMs) + 2n) - outside;
  },
};
