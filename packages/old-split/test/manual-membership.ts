import { createLimiter, type Limiter, type Policy } from '@sluice/old-core';
import type { Confirmation, Membership, SplitStore } from '@sluice/old-split';
import { createSplitStore } from '../src/split-store.ts';
import type { LocalClocks } from '@sluice/old-core/spi';

/** 2026-11-21 12:00:00 UTC. */
export const NOON_MS = 1_795_262_400_000;

/** A split store whose clocks and membership a test controls. */
export class ManualMembership implements LocalClocks, Membership {
  readonly id = 'me';
  readonly ttlMs: number;
  readonly store: SplitStore;
  /** How often the store has joined and left. */
  joined = 0;
  left = 0;
  #monotonicMs = 5000;
  #dateMs = NOON_MS;
  #isKnown = false;
  #confirmed: (confirmation: Confirmation) => void = () => undefined;
  #failed: (error: unknown) => void = () => undefined;

  constructor({ ttlMs = 3000, graceMs = 4000 } = {}) {
    this.ttlMs = ttlMs;
    this.store = createSplitStore({ membership: this, graceMs }, this);
  }

  limiter(policy: Policy, name = 'by-hand'): Limiter {
    return createLimiter({ name, policy, store: this.store, onStoreError: 'throw' });
  }

  monotonicMs(): number {
    return this.#monotonicMs;
  }

  dateMs(): number {
    return this.#dateMs;
  }

  pass(ms: number): void {
    this.#monotonicMs += ms;
    this.#dateMs += ms;
  }

  /** Suspends the machine for this long. */
  suspend(ms: number): void {
    this.#dateMs += ms;
  }

  /** The registry replies at once, with an exact clock, and with members if they have changed. */
  confirm(members?: Readonly<Record<string, number>>): void {
    this.#confirmed({
      askedAtMs: this.#monotonicMs,
      askedAtDateMs: this.#dateMs,
      atMs: Math.floor(this.#dateMs),
      epochs: members === undefined ? [] : [{ fromMs: Math.floor(this.#dateMs), members }],
      continues: this.#isKnown,
    });
    this.#isKnown = true;
  }

  /** The registry replies without time and history. */
  confirmUntimed(members: Readonly<Record<string, number>>): void {
    this.#confirmed({ members });
  }

  fail(error: unknown): void {
    this.#failed(error);
  }

  /** Lets time pass, while the registry replies every second. */
  live(ms: number): void {
    for (let left = ms; left > 0; left -= 1000) {
      this.pass(Math.min(left, 1000));
      this.confirm();
    }
  }

  join(confirmed: (confirmation: Confirmation) => void, failed: (error: unknown) => void): () => void {
    this.joined++;
    this.#isKnown = false;
    this.#confirmed = confirmed;
    this.#failed = failed;
    return () => {
      this.left++;
    };
  }
}
