import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, type Limiter, type OnStoreError, type Store } from '@sluice/core';
import { expectWarnings } from '@sluice/testkit';
import { FakeStore } from '../guard/fake-store.ts';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 3, window: '1h' });

const awayStore = (): FakeStore => new FakeStore('fails');
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

  it('is reset and blocked by any of them, once the store is back', async () => {
    const store = awayStore();
    const [here, there] = [limiterOn(store), limiterOn(store)];
    await here.consume('ann', 3);
    await here.consume('bob', 1);

    store.behaviour = 'answers';
    await there.reset('ann');
    await there.block('bob', '1h');
    store.behaviour = 'fails';

    expect(await here.peek('ann')).toMatchObject({ remaining: 3, source: 'local' });
    expect(await here.peek('bob')).toMatchObject({ outcome: 'blocked', source: 'local' });
  });
});

const throwing: Store = {
  source: 'redis',
  perform() {
    throw new Error('no client');
  },
};
const speechless: Store = { source: 'redis', perform: () => ({ atMs: 0, figures: [] }) };

describe.each([
  ['is away', awayStore, 'SLUICE_STORE_FAILED'],
  ['throws', () => throwing, 'SLUICE_STORE_FAILED'],
  ['answers nothing', () => speechless, 'SLUICE_STORE_REPLY_INVALID'],
])('a store that %s', (_how, makeStore, code) => {
  const limiterWith = (onStoreError: OnStoreError): Limiter => {
    const store = makeStore();
    return createLimiter({ name: 'failing', policy, store, onStoreError, shared: true });
  };

  it('is replaced by this process with local, the default, and the decision says why', async () => {
    const limiter = createLimiter({ name: 'default', policy, store: makeStore() });

    expect(await limiter.consume('key', 2)).toMatchObject({ source: 'local', remaining: 1, error: { code } });
    await limiter.close();
  });

  it.each([
    ['allow', true],
    ['deny', false],
  ] as const)('leaves the decision to %s: it is unavailable, and claims nothing', async (mode, allowed) => {
    const decision = await limiterWith(mode).consume('key', 2);

    expect(decision).toMatchObject({
      ...{ allowed, outcome: 'unavailable', source: 'none', policy: 'failing', cost: 2, error: { code }, policies: [] },
      ...{ limit: 0, remaining: 0, used: 0, retryAfterMs: allowed ? 0 : null, resetAfterMs: 0, delayMs: 0 },
    });
    await expect(limiterWith(mode).refund(decision)).rejects.toMatchObject({ code: 'SLUICE_DECISION_UNKNOWN' });
  });

  it('rejects with throw', async () => {
    await expect(limiterWith('throw').consume('key')).rejects.toMatchObject({ name: 'StoreError', code });
  });
});

describe('while the store is away', () => {
  it.each(['local', 'allow', 'deny', 'throw'] as const)('edits are rejected with onStoreError %s', async (mode) => {
    const limiter = createLimiter({ policy, store: awayStore(), onStoreError: mode });
    // Units of keys are given back and charged in the local fallback; the others count nowhere.
    const counts = mode === 'local' ? [] : [() => limiter.refund('key'), () => limiter.charge('key', 1)];

    for (const edit of [
      ...counts,
      () => limiter.reset('key'),
      () => limiter.unblock('key'),
      () => limiter.block('key', '1m'),
    ]) {
      await expect(edit()).rejects.toMatchObject({ name: 'StoreError' });
    }
    if (mode === 'local') expect(await limiter.consume('key')).toMatchObject({ outcome: 'blocked', source: 'local' });
  });

  it('units of keys are given back and charged in the local fallback', async () => {
    const limiter = createLimiter({ policy, store: awayStore() });
    await limiter.consume('key', 2);

    await limiter.refund('key', 1);
    const used = (await limiter.peek('key', 0)).used;
    await limiter.charge('key', 5);

    expect(used).toBe(1);
    expect(await limiter.consume('key')).toMatchObject({ allowed: false, used: 6 });
  });
});
