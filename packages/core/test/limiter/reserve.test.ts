import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, slidingWindow, StoreError, type Limiter, type Reservation } from '@sluice/core';
import { FakeStore, useFakeTime } from '../guard/fake-store.ts';

const { pass } = useFakeTime();
const policy = fixedWindow({ limit: 10, window: '1h' });
const remaining = async (limiter: Limiter, key = 'key'): Promise<number> => (await limiter.peek(key, 0)).remaining;

describe('bad actual units', () => {
  it.each([-1, 0.5, 2 ** 53, '3', undefined])('of %p settles nothing, and a right one may follow', async (actual) => {
    const limiter = createLimiter({ policy });
    const { settle } = await limiter.reserve('key', 5);

    await expect(settle(actual as number)).rejects.toMatchObject({ code: 'SLUICE_COST_INVALID' });

    expect(await remaining(limiter)).toBe(5);
    await settle(2);
    expect(await remaining(limiter)).toBe(8);
  });
});

describe('a reservation', () => {
  it.each<[string, (reservation: Reservation, limiter: Limiter) => Promise<unknown>, number]>([
    ['settled twice', ({ settle }) => settle(2).then(() => settle(7)), 8],
    ['settled twice at once', ({ settle }) => Promise.all([settle(2), settle(7)]), 8],
    ['settled at its estimate, and then otherwise', ({ settle }) => settle(5).then(() => settle(1)), 5],
    ['cancelled, and then settled', ({ cancel, settle }) => cancel().then(() => settle(9)), 10],
    ['settled, and then cancelled', ({ cancel, settle }) => settle(9).then(() => cancel()), 1],
    ['given back, and then settled', ({ decision, settle }, it) => it.refund(decision).then(() => settle(9)), 10],
    ['settled, and then given back', ({ decision, settle }, it) => settle(3).then(() => it.refund(decision)), 7],
  ])('is settled once: %s', async (_how, settle, left) => {
    const limiter = createLimiter({ policy });

    await settle(await limiter.reserve('key', 5), limiter);

    expect(await remaining(limiter)).toBe(left);
  });

  it('that was denied has taken nothing, and settles nothing', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('key', 8);

    const { decision, settle } = await limiter.reserve('key', 5);
    await settle(50);

    expect(decision).toMatchObject({ allowed: false, cost: 5, remaining: 2 });
    expect(await remaining(limiter)).toBe(2);
  });

  it('costs one round trip, and one more to settle what was not right', async () => {
    const store = new FakeStore();
    const limits = [
      { name: 'one', policy },
      { name: 'other', policy: slidingWindow({ limit: 20, window: '1h' }) },
    ] as const;
    const limiter = createLimiter({ limits, store });
    const keys = { one: 'a', other: 'b' };
    const reservations = [
      await limiter.reserve(keys, 2),
      await limiter.reserve(keys, 2),
      await limiter.reserve(keys, 2),
    ];

    for (const [i, { settle }] of reservations.entries()) await settle(i + 1);

    expect(store.calls).toEqual(['take', 'take', 'take', 'give', 'charge']);
    const { policies } = await limiter.peek(keys, 0);
    expect(policies.map((one) => one.remaining)).toEqual([10 - 6, 20 - 6]);
  });
});

describe('a settlement that fails', () => {
  it('is not tried again, for it may have happened, and rejects nothing; it is if it surely was not sent', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store });
    const [perhapsSent, unsent] = [await limiter.reserve('key', 2), await limiter.reserve('other', 2)];
    store.behaviour = 'fails';
    await perhapsSent.settle(5);
    const noConnection = new StoreError('SLUICE_STORE_FAILED', 'away', { sent: false });
    store.behaviour = { failsWith: noConnection };
    await unsent.settle(5);

    store.behaviour = 'answers';
    await perhapsSent.settle(5);
    await pass(1000);

    expect(store.calls).toEqual(['take', 'take', 'charge', 'charge', 'charge']);
    expect([await remaining(limiter), await remaining(limiter, 'other')]).toEqual([8, 5]);
  });
});

describe('a reservation that this process took in place of its store', () => {
  it.each([1, 0.5])('is settled here, also when the store is back, with a local share of %p', async (localShare) => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store, localShare });
    store.behaviour = 'fails';
    const { decision, settle } = await limiter.reserve('key', 2);
    expect(decision).toMatchObject({ source: 'local', limit: 10 * localShare });
    store.behaviour = 'answers';

    await settle(4);

    expect(await limiter.peek('key', 0)).toMatchObject({ source: 'redis', remaining: 10 });
    store.behaviour = 'fails';
    expect(await limiter.peek('key', 0)).toMatchObject({ source: 'local', remaining: 10 * localShare - 4 });
  });

  it('that no store counted settles nothing', async () => {
    const store = new FakeStore();
    const limiter = createLimiter({ policy, store, onStoreError: 'allow' });
    store.behaviour = 'fails';
    const { decision, settle } = await limiter.reserve('key', 2);
    expect(decision).toMatchObject({ allowed: true, outcome: 'unavailable' });
    store.behaviour = 'answers';

    await settle(5);

    expect(await remaining(limiter)).toBe(10);
  });
});
