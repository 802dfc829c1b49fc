import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, memoryStore } from '@sluice/old-core';

describe('holders of slots that have no name', () => {
  it('are never one another, however many limits they acquire together', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `limit-${String(i)}`);
    const limits = names.map((name) => ({ name, policy: concurrency({ limit: 1, ttl: '1h' }) }));
    const limiter = createLimiter({ limits, store: memoryStore() });
    for (let i = 0; i < 3; i++) await limiter.acquire({ 'limit-0': `of another, ${String(i)}` });
    const first = await limiter.acquire(Object.fromEntries(names.map((name) => [name, 'all'])));

    const allowed = [];
    for (let i = 0; i < 300; i++) {
      const { decision } = await limiter.acquire({ 'limit-0': String(i), 'limit-11': 'all' });
      if (decision.allowed) allowed.push(i);
    }

    expect(first.decision.allowed).toBe(true);
    expect(allowed).toEqual([]);
  });
});
