import { describe, expect, it } from '@jest/globals';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  slidingWindow,
  tokenBucket,
  type BreakerOptions,
  type Limiter,
  type Reservation,
  type Store,
  type StoreAnswers,
  type StoreRequest,
} from '@sluice/old-core';
import { fakeClock, onNodes, expectWarnings } from '@sluice/testkit';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 10, window: '1h' });
const remaining = async (limiter: Limiter, key = 'key'): Promise<number> => (await limiter.peek(key, 0)).remaining;

/** A store over memory that can be away, and tells what it was asked. */
class Watched implements Store {
  readonly source = 'redis';
  readonly breaker: BreakerOptions | false;
  readonly calls: StoreRequest['op'][][] = [];
  isAway = false;
  turns = 0;
  readonly #memory = memoryStore();

  constructor({ breaker = false }: { breaker?: BreakerOptions | false } = {}) {
    this.breaker = breaker;
  }

  async perform(requests: readonly StoreRequest[]): Promise<StoreAnswers> {
    for (let i = 0; i < this.turns; i++) await new Promise(setImmediate);
    this.calls.push(requests.map(({ op }) => op));
    if (this.isAway) throw new Error('away');
    return this.#memory.perform(requests);
  }
}

describe('a bad estimate', () => {
  it.each<[unknown, typeof TypeError | typeof RangeError, RegExp]>([
    [0, RangeError, /an estimate is a whole number from 1 to 2\^53 - 1, got 0; .*if you cannot tell, reserve 1/],
    [-1, RangeError, /got -1; nothing was consumed/],
    [1.5, RangeError, /got 1\.5/],
    [Number.NaN, RangeError, /got NaN/],
    [2 ** 53, RangeError, /got 9007199254740992/],
    ['5', TypeError, /got "5"/],
    [undefined, TypeError, /got undefined/],
  ])('of %p is denied, and nothing is consumed', async (estimate, error, text) => {
    const limiter = createLimiter({ policy });

    const attempt = limiter.reserve('key', estimate as number);

    await expect(attempt).rejects.toThrow(error);
    await expect(attempt).rejects.toThrow(text);
    await expect(attempt).rejects.toMatchObject({ code: 'SLUICE_COST_INVALID' });
    expect(await remaining(limiter)).toBe(10);
  });
});

describe('a bad truth', () => {
  it.each([-1, 0.5, Number.NaN, Infinity, 2 ** 53, '3', undefined, null])(
    'of %p settles nothing, and a right one may follow',
    async (actual) => {
      const limiter = createLimiter({ policy });
      const { settle } = await limiter.reserve('key', 5);

      await expect(settle(actual as number)).rejects.toMatchObject({ code: 'SLUICE_COST_INVALID' });

      expect(await remaining(limiter)).toBe(5);
      await settle(2);
      expect(await remaining(limiter)).toBe(8);
    },
  );
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

  it('that is not settled has cost its estimate', async () => {
    const limiter = createLimiter({ policy });

    await limiter.reserve('key', 7);

    expect(await remaining(limiter)).toBe(3);
  });

  it('that was denied has taken nothing, and settles nothing', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('key', 8);

    const { decision, settle } = await limiter.reserve('key', 5);
    await settle(50);

    expect(decision).toMatchObject({ allowed: false, cost: 5, remaining: 2 });
    expect(await remaining(limiter)).toBe(2);
  });

  it('of a key that was reset settles nothing in a window, and is charged to a bucket from full', async () => {
    const store = memoryStore({ clock: fakeClock() });
    const bucket = tokenBucket({ capacity: 10, refill: 1, every: '1h' });
    const [window, tokens] = [
      createLimiter({ name: 'window', policy, store }),
      createLimiter({ name: 'tokens', policy: bucket, store }),
    ];
    const reservations = [await window.reserve('key', 5), await tokens.reserve('key', 5)];
    await window.reset('key');
    await tokens.reset('key');

    await Promise.all(reservations.map(({ settle }) => settle(8)));

    expect([await remaining(window), await remaining(tokens)]).toEqual([10, 7]);
  });

  it('costs one round trip, and one more to settle what was not right', async () => {
    const store = new Watched();
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

    expect(store.calls).toEqual([['consume'], ['consume'], ['consume'], ['refund', 'refund'], ['charge', 'charge']]);
    const { policies } = await limiter.peek(keys, 0);
    expect(policies.map((one) => one.remaining)).toEqual([10 - 6, 20 - 6]);
  });

  it('settles on several nodes of a cluster', async () => {
    const store = onNodes(new Watched());
    const limits = [
      { name: 'one', policy },
      { name: 'other', policy },
    ] as const;
    const limiter = createLimiter({ limits, store });
    const [above, below] = [
      await limiter.reserve({ one: 'a', other: 'b' }, 2),
      await limiter.reserve({ one: 'a', other: 'b' }, 2),
    ];

    await Promise.all([above.settle(4), below.settle(1)]);

    expect((await limiter.peek({ one: 'a' }, 0)).remaining).toBe(5);
    expect((await limiter.peek({ other: 'b' }, 0)).remaining).toBe(5);
  });

  it('is waited for when its limiter closes while it is being settled', async () => {
    const store = new Watched();
    const limiter = createLimiter({ policy, store });
    const { settle } = await limiter.reserve('key', 2);
    store.turns = 5;

    const settled = settle(5);
    await limiter.close();

    expect(store.calls).toEqual([['consume'], ['charge']]);
    await settled;
  });

  it('cannot be settled by a limiter that is closed', async () => {
    const limiter = createLimiter({ policy });
    const { settle } = await limiter.reserve('key', 2);
    await limiter.close();

    await expect(settle(5)).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });
});

describe('a settlement that fails', () => {
  it('is not tried again, for it may have happened', async () => {
    const store = new Watched();
    const limiter = createLimiter({ policy, store });
    const { settle } = await limiter.reserve('key', 2);
    store.isAway = true;

    await expect(settle(5)).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });

    store.isAway = false;
    await settle(5);
    expect(store.calls).toEqual([['consume'], ['charge']]);
  });

  it('because the breaker is open may be tried again', async () => {
    const store = new Watched({ breaker: { failures: 1, probeEveryMs: 3_600_000 } });
    const limiter = createLimiter({ policy, store, onStoreError: 'throw' });
    const { settle } = await limiter.reserve('key', 2);
    store.isAway = true;
    await expect(limiter.consume('other')).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });

    // Nothing is sent by either.
    await expect(settle(5)).rejects.toMatchObject({ code: 'SLUICE_BREAKER_OPEN' });
    await expect(settle(5)).rejects.toMatchObject({ code: 'SLUICE_BREAKER_OPEN' });
    expect(store.calls).toEqual([['consume'], ['consume']]);
    await limiter.close();
  });
});

describe('a reservation that this process took in place of its store', () => {
  it.each([1, 0.5])('is settled here, also when the store is back, with a local share of %p', async (localShare) => {
    const store = new Watched();
    const limiter = createLimiter({ policy, store, localShare });
    store.isAway = true;
    const { decision, settle } = await limiter.reserve('key', 2);
    expect(decision).toMatchObject({ source: 'local', limit: 10 * localShare });
    store.isAway = false;

    await settle(4);

    expect(await limiter.peek('key', 0)).toMatchObject({ source: 'redis', remaining: 10 });
    store.isAway = true;
    expect(await limiter.peek('key', 0)).toMatchObject({ source: 'local', remaining: 10 * localShare - 4 });
  });

  it('that no store counted settles nothing', async () => {
    const store = new Watched();
    const limiter = createLimiter({ policy, store, onStoreError: 'allow' });
    store.isAway = true;
    const { decision, settle } = await limiter.reserve('key', 2);
    expect(decision).toMatchObject({ allowed: true, outcome: 'unavailable' });
    store.isAway = false;

    await settle(5);

    expect(await remaining(limiter)).toBe(10);
  });
});

describe('a memory store in which new keys share buckets, because many are being denied', () => {
  it('charges what was used where the estimate was taken', async () => {
    const store = memoryStore({ maxKeys: 2 });
    const limiter = createLimiter({ policy, store });
    await limiter.consume('denied', 10);
    await limiter.consume('denied', 1);
    const { settle } = await limiter.reserve('newcomer', 4);

    await settle(9);

    expect(await remaining(limiter, 'newcomer')).toBe(1);
  });
});
