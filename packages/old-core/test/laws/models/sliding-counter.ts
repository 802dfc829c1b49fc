import fc from 'fast-check';
import { slidingCounter, type Policy, type SlidingCounterOptions, type SlidingCounterPolicy } from '@sluice/old-core';
import { LARGEST_LIMIT } from './largest.ts';
import { big, ceilDiv, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { limitsOrNone, windows } from './sizes.ts';

/**
 * The charges per window of the clock. An interval of one window's length that ends now covers the current window and
 * a part of the previous one.
 */
class SlidingCounterModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  #units = new Map<bigint, bigint>();
  #lastMs = 0n;

  constructor({ limit, windowMs }: SlidingCounterPolicy) {
    this.limit = big(limit);
    this.windowMs = big(windowMs);
  }

  fits(cost: bigint, atMs: bigint): boolean {
    return this.#estimateTimesWindow(atMs) + cost * this.windowMs <= this.limit * this.windowMs;
  }

  remaining(atMs: bigint): bigint {
    return greatest(this.limit - this.used(atMs), 0n);
  }

  used(atMs: bigint): bigint {
    return ceilDiv(this.#estimateTimesWindow(atMs), this.windowMs);
  }

  isUnused(atMs: bigint): boolean {
    const index = this.#indexAt(atMs);
    return this.#held(index) + this.#held(index - 1n) === 0n;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    this.#lastMs = greatest(this.#lastMs, atMs);
    const index = this.#indexAt(atMs);
    this.#units.set(index, this.#held(index) + cost);
    return index;
  }

  refund(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const held = this.#held(receipt);
    if (held === 0n || receipt < this.#indexAt(atMs) - 1n) return;
    this.#units.set(receipt, greatest(held - cost, 0n));
    if (!this.isUnused(atMs)) return;
    this.#units.clear();
    this.#lastMs = 0n;
  }

  overcharge(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const age = this.#lastMs / this.windowMs - receipt;
    if (this.#lastMs === 0n || age < 0n || age > 1n || atMs >= (receipt + 2n) * this.windowMs) return;
    const most = least((2n ** 53n - 1n) / this.windowMs, big(LARGEST_LIMIT));
    this.#units.set(receipt, least(this.#held(receipt) + cost, most));
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    if (this.isUnused(atMs)) return;
    const newest = this.#lastMs / this.windowMs;
    const given = least(cost, this.#held(newest));
    this.#units.set(newest, this.#held(newest) - given);
    this.#units.set(newest - 1n, greatest(this.#held(newest - 1n) - (cost - given), 0n));
    if (!this.isUnused(atMs)) return;
    this.#units.clear();
    this.#lastMs = 0n;
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    const most = least((2n ** 53n - 1n) / this.windowMs, big(LARGEST_LIMIT));
    const more = least(cost, most - this.used(atMs));
    if (more > 0n) this.charge(more, atMs);
  }

  #estimateTimesWindow(atMs: bigint): bigint {
    const index = this.#indexAt(atMs);
    const passed = greatest(atMs, this.#lastMs) - index * this.windowMs;
    return this.#held(index) * this.windowMs + this.#held(index - 1n) * (this.windowMs - passed);
  }

  /** When the clock goes back, the instant of the last units counts. */
  #indexAt(atMs: bigint): bigint {
    return greatest(atMs, this.#lastMs) / this.windowMs;
  }

  #held(index: bigint): bigint {
    return this.#units.get(index) ?? 0n;
  }
}

export const slidingCounterReference: Reference = {
  algorithm: 'slidingCounter',
  policyOf: (options) => slidingCounter(options as unknown as SlidingCounterOptions),
  policies: fc
    .record({ limit: limitsOrNone, window: windows })
    .filter(({ limit, window }) => limit * window < 2 ** 53)
    .map((options): Policy => slidingCounter(options)),
  model: (policy) => new SlidingCounterModel(policy as SlidingCounterPolicy),
  refundable: 'in-window',
  most(policy, spanMs, refunds) {
    const { limit, windowMs } = policy as SlidingCounterPolicy;
    // A span of n windows can touch n + 2 of them, each with the limit; two adjacent ones with one unit less. Units
    // refunded at a small weight do not show.
    const touched = spanMs / big(windowMs) + 2n;
    return big(limit) * touched - (refunds ? 0n : touched / 2n);
  },
};
