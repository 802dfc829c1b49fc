import type { Decision, Limiter, Policy } from '@sluice/core';
import type { FakeClock } from '../fake-clock.ts';

/** What the parts of the contract of stores are given. */
export interface StoreSetup {
  /** A limiter of these policies on a new store, with the clock of that store. */
  readonly limiter: (policy: Policy | readonly Policy[]) => { readonly limiter: Limiter; readonly clock: FakeClock };
  /** Limiters that share one name on one new store. */
  readonly sharing: (...policies: readonly Policy[]) => {
    readonly limiters: readonly Limiter[];
    readonly clock: FakeClock;
  };
}

/** Takes units or, where a policy holds slots, slots of a new holder. */
export async function take(limiter: Limiter, key: string, cost = 1): Promise<Decision> {
  try {
    return await limiter.consume(key, cost);
  } catch (error) {
    if ((error as { code?: string }).code !== 'SLUICE_ACQUIRE_NEEDED') throw error;
    return (await limiter.acquire(key, { cost })).decision;
  }
}
