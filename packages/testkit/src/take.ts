import type { Decision, Limiter } from '@sluice/old-core';

/** Consumes or, where policies hold slots, acquires for a new holder. */
export async function take<Key>(limiter: Limiter<Key>, key: Key, cost = 1): Promise<Decision> {
  try {
    return await limiter.consume(key, cost);
  } catch (error) {
    if ((error as { code?: string }).code !== 'SLUICE_ACQUIRE_NEEDED') throw error;
    return (await limiter.acquire(key, { cost })).decision;
  }
}
