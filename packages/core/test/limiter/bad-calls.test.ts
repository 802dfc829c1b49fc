import { describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, type Limiter } from '@sluice/core';

const policy = fixedWindow({ limit: 5, window: '1m' });
const KEY = 'SLUICE_KEY_INVALID';
const COST = 'SLUICE_COST_INVALID';

/** The calls as one without types can make them. */
type Untyped = Record<'consume' | 'peek' | 'reset' | 'block' | 'unblock', (...args: unknown[]) => Promise<unknown>>;
const untyped = (limiter: unknown): Untyped => limiter as Untyped;

describe('a bad cost', () => {
  it.each<[cost: unknown, error: typeof TypeError | typeof RangeError, text: RegExp]>([
    [-1, RangeError, /got -1; to give units back, use refund\(decision\); nothing was consumed/],
    [Number.NaN, RangeError, /got NaN/],
    [1.5, RangeError, /whole number from 0 to 2\^53 - 1, got 1\.5/],
    [Infinity, RangeError, /got Infinity/],
    [2 ** 53, RangeError, /got 9007199254740992/],
    ['1', TypeError, /got "1"/],
    [1n, TypeError, /got 1n/],
    [null, TypeError, /got null/],
    [{}, TypeError, /got an object/],
  ])('of %p is denied, and nothing is consumed', async (cost, error, text) => {
    const store = memoryStore();
    const limiter = createLimiter({ policy, store });

    const attempts = [untyped(limiter).consume('key', cost), untyped(limiter).peek('key', cost)];

    for (const attempt of attempts) {
      await expect(attempt).rejects.toThrow(error);
      await expect(attempt).rejects.toThrow(text);
      await expect(attempt).rejects.toMatchObject({ code: COST });
    }
    expect(store.size).toBe(0);
  });

  it('of undefined is a cost of 1', async () => {
    expect(await createLimiter({ policy }).consume('key', undefined)).toMatchObject({ cost: 1, remaining: 4 });
  });
});

describe('a bad key', () => {
  it.each([[''], [undefined], [42], [['a']], [Symbol('a')]])(
    'of %p is a TypeError, and nothing is consumed',
    async (key) => {
      const store = memoryStore();
      const limiter = untyped(createLimiter({ policy, store }));

      const attempts = [
        limiter.consume(key),
        limiter.peek(key),
        limiter.reset(key),
        limiter.block(key, '1s'),
        limiter.unblock(key),
      ];

      for (const attempt of attempts) {
        await expect(attempt).rejects.toThrow(TypeError);
        await expect(attempt).rejects.toThrow(/key must be a non-empty string, got .*; nothing was consumed/);
        await expect(attempt).rejects.toMatchObject({ code: KEY });
      }
      expect(store.size).toBe(0);
    },
  );
});

describe('bad keys of several limits', () => {
  const limits = [
    { name: 'per-ip', policy },
    { name: 'per-user', policy },
  ] as const;

  it.each<[keys: unknown, text: RegExp]>([
    ['::1', /the key is an object with a key for per-ip and per-user, got "::1"/],
    [null, /got null/],
    [{}, /at least one limit needs a key, got none for per-ip and per-user/],
    [{ 'per-ip': undefined }, /at least one limit needs a key/],
    [{ 'per-ip': '::1', 'per-usr': 'ann' }, /there is no limit named "per-usr"; did you mean "per-user"\?/],
    [{ 'per-ip': '::1', whatever: 'ann' }, /there is no limit named "whatever"; known: per-ip and per-user/],
    [{ 'per-ip': '::1', 'per-user': 42 }, /the key of per-user must be a non-empty string/],
  ])('of %j are a TypeError, and nothing is consumed', async (keys, text) => {
    const store = memoryStore();
    const limiter = untyped(createLimiter({ limits, store }));

    const attempt = limiter.consume(keys);

    await expect(attempt).rejects.toThrow(TypeError);
    await expect(attempt).rejects.toThrow(text);
    await expect(attempt).rejects.toMatchObject({ code: KEY });
    expect(store.size).toBe(0);
  });
});

describe('a limit that is named like a property of every object', () => {
  it('is left out if it has no key', async () => {
    const limits = [
      { name: 'constructor', policy },
      { name: 'user', policy },
    ] as const;
    const limiter = createLimiter({ limits });

    const { policies } = await limiter.consume({ user: 'ann' } as never);

    expect(policies.map(({ name }) => name)).toEqual(['user']);
  });
});

describe('run', () => {
  it('takes a function', async () => {
    await expect(createLimiter({ policy }).run('key', 'work' as never)).rejects.toMatchObject({
      code: 'SLUICE_OPTION_INVALID',
      message: expect.stringContaining('run takes a key and a function, got "work"'),
    });
  });
});

describe('a bad duration of a block', () => {
  it.each([['a while'], [0], [undefined]])('of %p is a PolicyError, and nothing is blocked', async (duration) => {
    const limiter = createLimiter({ policy });

    await expect(untyped(limiter).block('key', duration)).rejects.toMatchObject({
      name: 'PolicyError',
      code: 'SLUICE_OPTION_INVALID',
      field: 'duration',
    });
    expect((await limiter.peek('key')).outcome).toBe('allowed');
  });
});

describe('giving back', () => {
  const spent = async (): Promise<{ limiter: Limiter; other: Limiter }> => {
    const store = memoryStore();
    const limiter = createLimiter({ policy, store });
    await limiter.consume('key', 2);
    return { limiter, other: createLimiter({ name: 'other', policy, store }) };
  };

  it('takes the decision itself, not a copy of it', async () => {
    const { limiter } = await spent();
    const decision = await limiter.consume('key', 2);

    for (const forged of [{ ...decision }, JSON.parse(JSON.stringify(decision)), {}, undefined, null, 5]) {
      const attempt = limiter.refund(forged as typeof decision);
      await expect(attempt).rejects.toThrow(TypeError);
      await expect(attempt).rejects.toMatchObject({ code: 'SLUICE_DECISION_UNKNOWN' });
    }
    expect((await limiter.peek('key')).remaining).toBe(1);
  });

  it('takes no decision of another limiter', async () => {
    const { limiter, other } = await spent();
    const decision = await other.consume('key', 2);

    await expect(limiter.refund(decision)).rejects.toMatchObject({ code: 'SLUICE_DECISION_UNKNOWN' });
  });

  it('denies more than was taken, and bad numbers, without giving anything back', async () => {
    const { limiter } = await spent();
    const decision = await limiter.consume('key', 2);

    await expect(limiter.refund(decision, 3)).rejects.toThrow(
      /whole number of units, from 0 to the 2 of the decision, got 3/,
    );
    await expect(limiter.refund(decision, -1)).rejects.toThrow(RangeError);
    await expect(limiter.refund(decision, Number.NaN)).rejects.toThrow(RangeError);
    await expect(limiter.refund(decision, '1' as unknown as number)).rejects.toThrow(TypeError);
    await expect(limiter.refund(decision, null as unknown as number)).rejects.toThrow(TypeError);
    await expect(limiter.refund('key', null as unknown as number)).rejects.toThrow(TypeError);
    expect((await limiter.peek('key')).remaining).toBe(1);
    await limiter.refund(decision);
    expect((await limiter.peek('key')).remaining).toBe(3);
  });

  it('of a denial, a peek or a cost of 0 does nothing', async () => {
    const { limiter } = await spent();
    const denied = await limiter.consume('key', 4);
    const peeked = await limiter.peek('key', 3);
    const nothing = await limiter.consume('key', 0);

    await Promise.all([limiter.refund(denied), limiter.refund(peeked), limiter.refund(nothing)]);

    expect((await limiter.peek('key')).remaining).toBe(3);
  });
});
