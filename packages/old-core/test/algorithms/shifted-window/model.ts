import fc from 'fast-check';
import type { Policy } from '@sluice/old-core';
import type { PolicyBase } from '@sluice/old-core/spi';
import { MOST_UNITS, big, greatest, least, type Model, type Receipt, type Reference } from '../../laws/models/model.ts';
import { limits, windows } from '../../laws/models/sizes.ts';
import { shiftedWindow } from './index.ts';
import type { ShiftedWindowOptions, ShiftedWindowPolicy } from './policy.ts';

/**
 * Keeps what was charged per window, each under the instant at which it ends. The last window opened counts until it
 * ends.
 */
class ShiftedWindowModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly #shiftMs: bigint;
  readonly #usedByEnd = new Map<bigint, bigint>();
  #lastEndMs = 0n;

  constructor({ limit, windowMs, shiftMs }: ShiftedWindowPolicy) {
    this.limit = big(limit);
    this.windowMs = big(windowMs);
    this.#shiftMs = big(shiftMs);
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
    if (atMs >= this.#lastEndMs) {
      // Instants of the tests lie far behind the shift, so that no remainder is below 0.
      this.#lastEndMs = atMs + this.windowMs - ((atMs - this.#shiftMs) % this.windowMs);
    }
    this.#usedByEnd.set(this.#lastEndMs, used + cost);
    return this.#lastEndMs;
  }

  refund(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const used = this.#usedOfLive(receipt, atMs);
    if (used !== undefined) this.#usedByEnd.set(receipt, greatest(used - cost, 0n));
  }

  overcharge(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const used = this.#usedOfLive(receipt, atMs);
    if (used !== undefined) this.#usedByEnd.set(receipt, least(used + cost, MOST_UNITS));
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    this.refund(cost, this.#lastEndMs, atMs);
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    const more = least(cost, MOST_UNITS - this.used(atMs));
    if (more > 0n) this.charge(more, atMs);
  }

  #usedOfLive(endMs: bigint, atMs: bigint): bigint | undefined {
    return endMs === this.#lastEndMs && atMs < endMs ? this.#usedByEnd.get(endMs) : undefined;
  }

  used(atMs: bigint): bigint {
    return this.#usedOfLive(this.#lastEndMs, atMs) ?? 0n;
  }
}

export const shiftedWindowReference: Reference = {
  algorithm: 'shiftedWindow',
  policyOf: (options) => shiftedWindow(options as unknown as ShiftedWindowOptions) as PolicyBase as Policy,
  policies: fc
    .record({ limit: limits, window: windows, shift: fc.integer({ min: 0, max: 100_000_000 }) })
    .map((options) => shiftedWindow(options) as PolicyBase as Policy),
  model: (policy) => new ShiftedWindowModel(policy as PolicyBase as ShiftedWindowPolicy),
  refundable: 'in-window',
  most(policy, spanMs) {
    const { limit, windowMs } = policy as PolicyBase as ShiftedWindowPolicy;
    return big(limit) * (spanMs / big(windowMs) + 2n);
  },
};
