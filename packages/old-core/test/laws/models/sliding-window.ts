import fc from 'fast-check';
import { slidingWindow, type Policy, type SlidingWindowOptions, type SlidingWindowPolicy } from '@sluice/old-core';
import { MOST_UNITS, big, ceilDiv, greatest, least, type Model, type Receipt, type Reference } from './model.ts';
import { limitsOrNone, windows } from './sizes.ts';

interface Block {
  readonly index: bigint;
  units: bigint;
  /** The latest instant at which it was charged. */
  lastMs: bigint;
}

/**
 * A list of the charges per block of the clock. When the clock goes back, the newest block counts. A block leaves a
 * window after its last instant: the latest charge of the newest block, the end of any other.
 */
class SlidingWindowModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly #blockMs: bigint;
  readonly #spanMs: bigint;
  #blocks: Block[] = [];

  constructor({ limit, windowMs, precisionMs }: SlidingWindowPolicy) {
    this.limit = big(limit);
    this.windowMs = big(windowMs);
    this.#blockMs = big(precisionMs);
    this.#spanMs = ceilDiv(this.windowMs, this.#blockMs) * this.#blockMs;
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

  /** The receipt is the instant that counts. */
  charge(cost: bigint, atMs: bigint): Receipt {
    const newest = this.#newest();
    const chargedMs = newest === undefined ? atMs : greatest(newest.lastMs, atMs);
    const index = chargedMs / this.#blockMs;
    this.#blocks = this.#live(atMs);
    const block = this.#blocks.find((other) => other.index === index);
    if (block === undefined) this.#blocks.push({ index, units: cost, lastMs: chargedMs });
    else Object.assign(block, { units: block.units + cost, lastMs: chargedMs });
    return chargedMs;
  }

  refund(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const block = this.#blocks.find(({ index }) => index === receipt / this.#blockMs);
    if (block === undefined || atMs >= receipt + this.#spanMs) return;
    block.units -= least(cost, block.units);
    if (this.#blocks.every(({ units }) => units === 0n)) this.#blocks = [];
  }

  overcharge(cost: bigint, receipt: Receipt, atMs: bigint): void {
    const index = receipt / this.#blockMs;
    const newest = this.#newest();
    if (newest === undefined || index > newest.index || atMs >= receipt + this.#spanMs) return;
    if ((newest.index - index) * this.#blockMs > this.#spanMs) return; // a clock that went back by more than a window
    const all = this.#blocks.reduce((sum, { units }) => sum + units, 0n);
    const more = least(cost, MOST_UNITS - all);
    const block = this.#blocks.find((other) => other.index === index);
    if (block === undefined) this.#blocks.push({ index, units: more, lastMs: receipt });
    else block.units += more;
  }

  refundNewest(cost: bigint, atMs: bigint): void {
    const live = this.#live(atMs).filter(({ units }) => units > 0n);
    if (live.length === 0) return;
    let left = cost;
    for (const block of live.sort((a, b) => (a.index > b.index ? -1 : 1))) {
      const given = least(left, block.units);
      block.units -= given;
      left -= given;
    }
    // The newest block stays, even without units: no earlier one is charged again.
    this.#blocks = this.#live(atMs);
    if (live.every(({ units }) => units === 0n)) this.#blocks = [];
  }

  chargeNow(cost: bigint, atMs: bigint): void {
    const more = least(cost, MOST_UNITS - this.used(atMs));
    if (more > 0n) this.charge(more, atMs);
  }

  used(atMs: bigint): bigint {
    return this.#live(atMs).reduce((sum, { units }) => sum + units, 0n);
  }

  #newest(): Block | undefined {
    return this.#blocks.reduce<Block | undefined>(
      (newest, block) => (newest === undefined || block.index > newest.index ? block : newest),
      undefined,
    );
  }

  #live(atMs: bigint): Block[] {
    const newest = this.#newest();
    return this.#blocks.filter((block) => {
      const latestMs = block === newest ? block.lastMs : (block.index + 1n) * this.#blockMs - 1n;
      return atMs < latestMs + this.#spanMs;
    });
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
