import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, memoryStore, type Store } from '@sluice/old-core';
import { until } from '@sluice/testkit';

/** A store that performs what it is asked, and answers to some of it never. */
function mute(isHeard: () => boolean): { readonly store: Store; readonly performed: string[] } {
  const inner = memoryStore();
  const performed: string[] = [];
  const store: Store = {
    source: 'redis',
    async perform(requests) {
      const answers = inner.perform(requests);
      performed.push(...requests.map(({ op }) => op));
      if (!isHeard()) await new Promise(() => undefined);
      return answers;
    },
  };
  return { store, performed };
}

describe('an acquire whose answer is late', () => {
  it('leaves the slot to a holder with a name, who may have had it before', async () => {
    let isHeard = true;
    const { store } = mute(() => isHeard);
    const policy = concurrency({ limit: 1, ttl: '1h' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 50 });
    const held = await limiter.acquire('imports', { holder: 'job-1' });
    isHeard = false;

    await expect(limiter.acquire('imports', { holder: 'job-1' })).rejects.toThrow(/SLUICE_STORE_TIMEOUT/);
    isHeard = true;
    const other = await limiter.acquire('imports', { holder: 'job-2' });

    expect(other.decision.allowed).toBe(false);
    expect(await held.renew()).toBe(true);
  });

  it('releases the slot of one without, once: no other process could', async () => {
    let isHeard = false;
    const { store, performed } = mute(() => isHeard);
    const policy = concurrency({ limit: 1, ttl: '1h' });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 50 });

    await expect(limiter.acquire('imports')).rejects.toThrow(/SLUICE_STORE_TIMEOUT/);
    await until('it is released', () => performed.includes('release'));
    isHeard = true;
    const next = await limiter.acquire('imports');

    expect(next.decision.allowed).toBe(true);
    expect(performed).toEqual(['consume', 'release', 'consume']);
  });
});
