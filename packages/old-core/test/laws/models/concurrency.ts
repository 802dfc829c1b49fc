import fc from 'fast-check';
import { concurrency, type ConcurrencyOptions, type ConcurrencyPolicy, type Policy } from '@sluice/old-core';
import { big, greatest, type Model, type Receipt, type Reference } from './model.ts';
import { limitsOrNone, windows } from './sizes.ts';

/** Unique for every slot, even after a reset. */
let made = 0n;

/** A list of held slots, each with a number, its units and its end. */
class ConcurrencyModel implements Model {
  readonly limit: bigint;
  readonly windowMs: bigint;
  readonly reportsNext = false;
  readonly unit = 'concurrent-requests';
  #held: { readonly number: bigint; readonly units: bigint; readonly expiresAtMs: bigint }[] = [];

  constructor({ limit, ttlMs }: ConcurrencyPolicy) {
    this.limit = big(limit);
    this.windowMs = big(ttlMs);
  }

  fits(cost: bigint, atMs: bigint): boolean {
    return cost <= this.limit - this.used(atMs);
  }

  remaining(atMs: bigint): bigint {
    return this.limit - this.used(atMs);
  }

  isUnused(atMs: bigint): boolean {
    return this.used(atMs) === 0n;
  }

  charge(cost: bigint, atMs: bigint): Receipt {
    this.#forget(atMs);
    made += 1n;
    // Not before earlier slots: when the clock goes back, the newest instant counts.
    const latestMs = this.#held.reduce((latest, { expiresAtMs }) => greatest(latest, expiresAtMs), 0n);
    this.#held.push({ number: made, units: cost, expiresAtMs: greatest(atMs + this.windowMs, latestMs) });
    return made;
  }

  /** A slot is released as a whole, or not. */
  refund(cost: bigint, number: Receipt, atMs: bigint): void {
    const held = this.#held.find((slot) => slot.number === number && slot.expiresAtMs > atMs);
    if (held?.units !== cost) return;
    this.#held = this.#held.filter((slot) => slot !== held);
    this.#forget(atMs);
  }

  #forget(nowMs: bigint): void {
    this.#held = this.#held.filter(({ expiresAtMs }) => expiresAtMs > nowMs);
  }

  used(nowMs: bigint): bigint {
    return this.#held.reduce((sum, { units, expiresAtMs }) => (expiresAtMs > nowMs ? sum + units : sum), 0n);
  }
}

export const concurrencyReference: Reference = {
  algorithm: 'concurrency',
  policyOf: (options) => concurrency(options as unknown as ConcurrencyOptions),
  policies: fc.record({ limit: limitsOrNone, ttl: windows }).map((options): Policy => concurrency(options)),
  model: (policy) => new ConcurrencyModel(policy as ConcurrencyPolicy),
  refundable: 'in-window',
  /** Slots acquired within one `ttl` and not released: as many as the limit. */
  most(policy, spanMs) {
    const { limit, ttlMs } = policy as ConcurrencyPolicy;
    return big(limit) * (spanMs / big(ttlMs) + 1n);
  },
};
