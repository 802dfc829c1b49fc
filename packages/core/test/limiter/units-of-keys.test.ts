import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, type Limiter, type OnStoreError, type Policy } from '@sluice/core';
import { WatchedStore } from './watched-store.ts';

const policy = fixedWindow({ limit: 5, window: '1d' });
const limits = [
  { name: 'ip', policy },
  { name: 'user', policy: fixedWindow({ limit: 9, window: '1d' }) },
] as const;

describe('units of keys', () => {
  it('are given back and charged under several limits at once, of those that have a key', async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume({ ip: '::1', user: 'ann' }, 4);

    await limiter.refund({ ip: '::1', user: 'ann' }, 3);
    await limiter.charge({ user: 'ann' }, 2);

    const { policies } = await limiter.peek({ ip: '::1', user: 'ann' }, 0);
    expect(policies.map(({ used }) => used)).toEqual([1, 3]);
  });

  it('are those of keys alone: whatever else is given to refund is rejected', async () => {
    const limiter = createLimiter({ limits });
    const decision = await limiter.consume({ ip: '::1', user: 'ann' }, 4);

    for (const other of [{}, { ip: '::1', host: 'a' }, { ip: 5 }, 'ip', null, [], ['::1']]) {
      await expect(limiter.refund(other as never)).rejects.toMatchObject({
        name: 'TypeError',
        code: 'SLUICE_KEY_INVALID',
      });
    }
    await expect(limiter.refund({ ...decision } as never)).rejects.toMatchObject({ code: 'SLUICE_DECISION_UNKNOWN' });
    expect((await limiter.peek({ ip: '::1' }, 0)).used).toBe(4);
  });

  it('are rejected with a bad key or cost, and then nothing happens', async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('key', 2);
    const refund = limiter.refund.bind(limiter) as (key: unknown, cost?: unknown) => Promise<void>;
    const charge = limiter.charge.bind(limiter) as (key: unknown, cost?: unknown) => Promise<void>;

    await expect(refund('')).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
    await expect(charge('', 1)).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
    await expect(charge('key')).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_COST_INVALID' });
    for (const cost of [-1, 0.5, Number.NaN, Infinity, 2 ** 53]) {
      await expect(refund('key', cost)).rejects.toMatchObject({ name: 'RangeError', code: 'SLUICE_COST_INVALID' });
      await expect(charge('key', cost)).rejects.toMatchObject({ name: 'RangeError', code: 'SLUICE_COST_INVALID' });
    }
    expect((await limiter.peek('key', 0)).used).toBe(2);
  });

  it.each<[string, Policy | readonly Policy[]]>([
    ['alone', concurrency({ limit: 3, ttl: '1m' })],
    [
      'beside another',
      [
        { ...concurrency({ limit: 3, ttl: '1m' }), name: 'slots' },
        { ...policy, name: 'calls' },
      ],
    ],
  ])('do not release slots, which have holders: concurrency %s', async (_how, held) => {
    const limiter = createLimiter({ policy: held });
    await limiter.acquire('key');

    for (const attempt of [limiter.refund('key'), limiter.charge('key', 1), limiter.refund('key', 0)]) {
      await expect(attempt).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_ACQUIRE_NEEDED' });
    }
    expect((await limiter.peek('key', 0)).policies.map(({ used }) => used)).toEqual([held].flat().map(() => 1));
  });
});

describe('a block with a bad option', () => {
  it.each([
    [{ resets: true }, 'SLUICE_OPTION_UNKNOWN'],
    [{ reset: 'yes' }, 'SLUICE_OPTION_INVALID'],
    ['reset', 'SLUICE_OPTION_INVALID'],
  ])('%j is rejected, and blocks nothing', async (options, code) => {
    const limiter = createLimiter({ policy });

    await expect(limiter.block('key', '1h', options as never)).rejects.toMatchObject({ code });
    expect((await limiter.peek('key')).outcome).toBe('allowed');
  });
});

describe('units of keys while the store fails', () => {
  const limiterFor = (onStoreError: OnStoreError): Limiter => {
    const store = new WatchedStore();
    store.isAway = true;
    return createLimiter({ policy, onStoreError, store });
  };

  it('are given back and charged in the local fallback', async () => {
    const limiter = limiterFor('local');
    await limiter.consume('key', 4);

    await limiter.refund('key', 3);
    const used = (await limiter.peek('key', 0)).used;
    await limiter.charge('key', 8);

    expect(used).toBe(1);
    expect(await limiter.consume('key')).toMatchObject({ allowed: false, used: 9 });
  });

  it.each(['allow', 'deny', 'throw'] as const)(
    'are rejected with onStoreError %s, which counts nowhere',
    async (mode) => {
      const limiter = limiterFor(mode);

      await expect(limiter.refund('key')).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });
      await expect(limiter.charge('key', 1)).rejects.toMatchObject({ code: 'SLUICE_STORE_FAILED' });
    },
  );
});
