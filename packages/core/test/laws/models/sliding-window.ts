import fc from 'fast-check';
import { slidingWindow, type Policy, type SlidingWindowOptions, type SlidingWindowPolicy } from '@sluice/core';
import { MOST_UNITS, big, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { limitsOrNone, windows } from './sizes.ts';

/** A list of the charges per block of the clock. When the clock goes back, the newest block counts. */
class SlidingWindowModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly #blockMs: bigint;
  #blocks: { readonly index: bigint; units: bigint }[] = [];

  constructor({ limit, windowMs, precisionMs }: SlidingWindowPolicy) {
    this.limit = big(limit);
    this.windowMs = big(windowMs);
    this.#blockMs = big(precisionMs);
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
    const index = this.#blockOf(atMs);
    this.#blocks = this.#blocks.filter((block) => this.#counts(block.index, index));
    const block = this.#blocks.find((other) => other.index === index);
    if (block === undefined) this.#blocks.push({ index, units: cost });
    else block.units += cost;
    return index;
  }

  refund(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const block = this.#blocks.find(({ index }) => index === receipt);
    if (block === undefined || !this.#counts(block.index, this.#blockOf(atMs))) return;
    block.units -= least(cost, block.units);
    if (this.#blocks.every(({ units }) => units === 0n)) this.#blocks = [];
  }

  overcharge(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const newest = this.#blocks.reduce((latest, { index }) => greatest(latest, index), -1n);
    if (receipt > newest || !this.#counts(receipt, this.#blockOf(atMs))) return;
    const all = this.#blocks.reduce((sum, { units }) => sum + units, 0n);
    const more = least(cost, MOST_UNITS - all);
    const block = this.#blocks.find(({ index }) => index === receipt);
    if (block === undefined) this.#blocks.push({ index: receipt, units: more });
    else block.units += more;
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    const current = this.#blockOf(atMs);
    const live = this.#blocks.filter(({ index, units }) => units > 0n && this.#counts(index, current));
    if (live.length === 0) return;
    let left = cost;
    for (const block of live.sort((a, b) => (a.index > b.index ? -1 : 1))) {
      const given = least(left, block.units);
      block.units -= given;
      left -= given;
    }
    // The newest block stays, even without units: no earlier one is charged again.
    this.#blocks = this.#blocks.filter(({ index }) => this.#counts(index, current));
    if (live.every(({ units }) => units === 0n)) this.#blocks = [];
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    const more = least(cost, MOST_UNITS - this.used(atMs));
    if (more > 0n) this.charge(more, atMs);
  }

  used(atMs: bigint): bigint {
    const current = this.#blockOf(atMs);
    return this.#blocks.reduce((sum, { index, units }) => (this.#counts(index, current) ? sum + units : sum), 0n);
  }

  #blockOf(atMs: bigint): bigint {
    return this.#blocks.reduce((newest, { index }) => greatest(newest, index), atMs / this.#blockMs);
  }

  /** A block counts until a whole window has passed between its end and the start of the current one. */
  #counts(index: bigint, current: bigint): boolean {
    return (current - index - 1n) * this.#blockMs < this.windowMs;
  }
}

const inTenBlocks = fc
  .record({ limit: limitsOrNone, window: windows })
  .map((options): Policy => slidingWindow(options));

const byHand = fc
  .record({ limit: limitsOrNone, blocks: fc.integer({ min: 1, max: 100 }), precision: windows })
  .map(({ limit, blocks, precision }): Policy => slidingWindow({ limit, window: blocks * precision, precision }));

export const slidingWindowReference: Reference = {
  algorithm: 'slidingWindow',
  policyOf: (options) => slidingWindow(options as unknown as SlidingWindowOptions),
  policies: fc.oneof(inTenBlocks, byHand),
  model: (policy) => new SlidingWindowModel(policy as SlidingWindowPolicy),
  refundable: 'in-window',
  most(policy, spanMs) {
    const { limit, windowMs } = policy as SlidingWindowPolicy;
    return big(limit) * (spanMs / big(windowMs) + 1n);
  },
};
