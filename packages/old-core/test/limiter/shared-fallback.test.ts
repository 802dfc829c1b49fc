import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, type Limiter, type Store } from '@sluice/old-core';

const policy = fixedWindow({ limit: 3, window: '1h' });

/** A store that is away until it is told to come back. */
function awayStore(): Store & { isAway: boolean } {
  const memory = memoryStore();
  return {
    source: 'redis',
    isAway: true,
    perform(requests) {
      if (this.isAway) throw new Error('away');
      return memory.perform(requests);
    },
  };
}

const limiterOn = (store: Store, name = 'api'): Limiter => createLimiter({ name, policy, store, shared: true });

describe('what stands in for a store that is away', () => {
  it('is one for all limiters of that store: those that count together go on doing so', async () => {
    const store = awayStore();
    const [here, there] = [limiterOn(store), limiterOn(store)];
    await here.consume('ann', 2);

    const decisions = [await there.consume('ann'), await here.consume('ann'), await there.consume('ann')];

    expect(decisions.map(({ allowed, remaining, source }) => [allowed, remaining, source])).toEqual([
      [true, 0, 'local'],
      [false, 0, 'local'],
      [false, 0, 'local'],
    ]);
  });

  it('keeps apart limiters of other names, and other stores', async () => {
    const store = awayStore();
    await limiterOn(store).consume('ann', 3);

    expect((await limiterOn(store, 'other').consume('ann')).remaining).toBe(2);
    expect((await limiterOn(awayStore()).consume('ann')).remaining).toBe(2);
  });

  it('is given back to by whichever limiter took from it', async () => {
    const store = awayStore();
    const [here, there] = [limiterOn(store), limiterOn(store)];
    const decision = await here.consume('ann', 3);

    await here.refund(decision);

    expect((await there.peek('ann')).remaining).toBe(3);
  });

  it('is reset and blocked by any of them, once the store is back', async () => {
    const store = awayStore();
    const [here, there] = [limiterOn(store), limiterOn(store)];
    await here.consume('ann', 3);
    await here.consume('bob', 1);

    store.isAway = false;
    await there.reset('ann');
    await there.block('bob', '1h');
    store.isAway = true;

    expect(await here.peek('ann')).toMatchObject({ remaining: 3, source: 'local' });
    expect(await here.peek('bob')).toMatchObject({ outcome: 'blocked', source: 'local' });
  });

  it('is not there for limiters that say something else', async () => {
    const store = awayStore();
    const open = createLimiter({ name: 'api', policy, store, shared: true, onStoreError: 'allow' });
    await open.consume('ann', 3);

    expect((await limiterOn(store).consume('ann')).remaining).toBe(2);
  });
});
