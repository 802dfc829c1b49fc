import fc from 'fast-check';
import { slidingLog, type Policy, type SlidingLogOptions, type SlidingLogPolicy } from '@sluice/old-core';
import { big, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { windows } from './sizes.ts';

/** As many units as a log counts, whatever its limit. */
const MOST_LOGGED = 999_999n;

/** A list of instants with the units consumed then. When the clock goes back, the newest instant counts. */
class SlidingLogModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  #consumed: { readonly atMs: bigint; units: bigint }[] = [];

  constructor({ limit, windowMs }: SlidingLogPolicy) {
    this.limit = big(limit);
    this.windowMs = big(windowMs);
  }

  fits(cost: bigint, atMs: bigint): boolean {
    return cost <= this.limit - this.used(atMs);
  }

  remaining(atMs: bigint): bigint {
    return greatest(this.limit - this.used(atMs), 0n);
  }

  isUnused(atMs: bigint): boolean {
    return this.used(atMs) === 0n;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    this.#forget(atMs);
    const newestMs = this.#consumed.reduce((newest, consumed) => greatest(newest, consumed.atMs), atMs);
    this.#consumed.push({ atMs: newestMs, units: cost });
    return newestMs;
  }

  refund(cost: bigint, chargedAtMs: Receipt, atMs: bigint): void {
    if (atMs >= chargedAtMs + this.windowMs || this.isUnused(atMs)) return;
    this.#forget(atMs);
    for (const consumed of this.#consumed) {
      const refunded = least(cost, consumed.units);
      consumed.units -= refunded;
      cost -= refunded;
    }
    this.#consumed = this.#consumed.filter(({ units }) => units > 0n);
  }

  overcharge(cost: bigint, chargedAtMs: Receipt, atMs: bigint): void {
    const used = this.used(atMs);
    const more = least(cost, MOST_LOGGED - used);
    if (atMs < chargedAtMs + this.windowMs && used > 0n && more > 0n) this.charge(more, atMs);
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    if (this.isUnused(atMs)) return;
    this.#forget(atMs);
    for (const consumed of this.#consumed.toReversed()) {
      const refunded = least(cost, consumed.units);
      consumed.units -= refunded;
      cost -= refunded;
    }
    this.#consumed = this.#consumed.filter(({ units }) => units > 0n);
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    const more = least(cost, MOST_LOGGED - this.used(atMs));
    if (more > 0n) this.charge(more, atMs);
  }

  /** A write forgets what has expired, even when the clock goes back later. */
  #forget(nowMs: bigint): void {
    this.#consumed = this.#consumed.filter(({ atMs }) => atMs + this.windowMs > nowMs);
  }

  used(nowMs: bigint): bigint {
    return this.#consumed.reduce((sum, { atMs, units }) => (atMs + this.windowMs > nowMs ? sum + units : sum), 0n);
  }
}

const sizes = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 12 }) },
  { weight: 2, arbitrary: fc.integer({ min: 13, max: 1_000 }) },
  { weight: 1, arbitrary: fc.constantFrom(0, 999_999) },
);

export const slidingLogReference: Reference = {
  algorithm: 'slidingLog',
  policyOf: (options) => slidingLog(options as unknown as SlidingLogOptions),
  policies: fc.record({ limit: sizes, window: windows }).map((options): Policy => slidingLog(options)),
  model: (policy) => new SlidingLogModel(policy as SlidingLogPolicy),
  refundable: 'in-window',
  most(policy, spanMs) {
    const { limit, windowMs } = policy as SlidingLogPolicy;
    return big(limit) * (spanMs / big(windowMs) + 1n);
  },
};
