import { beforeAll, describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  escalate,
  fixedWindow,
  memoryStore,
  redisStore,
  silenceWarnings,
  slidingLog,
  type Limiter,
  type Store,
} from '@sluice/old-core';
import { fakeClock } from '@sluice/testkit';

const perMinute = (limit: number) => fixedWindow({ limit, window: '1m' });
const KEYS = ['ann', 'bob', '#marked', 'long'.repeat(100)];

async function useUp(limiter: Limiter): Promise<void> {
  for (const key of KEYS) expect((await limiter.consume(key, 2)).allowed).toBe(true);
  for (const key of KEYS) expect((await limiter.consume(key)).allowed).toBe(false);
}

describe('resetAll', () => {
  it.each([
    ['one policy', perMinute(2)],
    ['a policy with long states', slidingLog({ limit: 2, window: '1h' })],
    ['several policies', [{ ...perMinute(2), name: 'one' }, slidingLog({ name: 'two', limit: 2, window: '1h' })]],
  ])('makes every key of %s as if never used', async (_name, policy) => {
    const limiter = createLimiter({ policy });
    await useUp(limiter);

    await limiter.resetAll();

    expect(limiter.status().keysInMemory).toBe(0);
    await useUp(limiter);
  });

  it('resets every one of several limits', async () => {
    const limiter = createLimiter({
      limits: [
        { name: 'per-ip', policy: perMinute(2) },
        { name: 'per-user', policy: perMinute(1) },
      ],
    });
    await limiter.consume({ 'per-ip': '::1', 'per-user': 'ann' });

    await limiter.resetAll();

    expect(await limiter.peek({ 'per-ip': '::1' }, 2)).toMatchObject({ allowed: true, used: 0 });
    expect(await limiter.peek({ 'per-user': 'ann' })).toMatchObject({ allowed: true, used: 0 });
  });

  it('ends blocks, forgets counted denials, and frees slots', async () => {
    const store = memoryStore();
    const limiter = createLimiter({
      policy: perMinute(1),
      escalate: escalate({ after: 2, block: '1h', decay: '1h' }),
      store,
    });
    const slots = createLimiter({ name: 'slots', policy: concurrency({ limit: 1, ttl: '1h' }), store });
    await limiter.block('ann', '1d');
    await limiter.consume('bob');
    await limiter.consume('bob');
    const held = await slots.acquire('job');

    await limiter.resetAll();
    await slots.resetAll();

    expect((await limiter.consume('ann')).outcome).toBe('allowed');
    await limiter.consume('bob');
    expect((await limiter.consume('bob')).outcome).toBe('denied');
    const other = await slots.acquire('job');
    expect(other.decision.allowed).toBe(true);
    await held.release();
    expect((await slots.acquire('job')).decision.allowed).toBe(false);
  });

  it('leaves the other limiters of the store, also those whose names begin alike', async () => {
    const store = memoryStore();
    const names = ['shop', 'shop2', 'shop.a', 'other'];
    const [shop, ...others] = names.map((name) => createLimiter({ name, policy: perMinute(2), store })) as [
      Limiter,
      ...Limiter[],
    ];
    for (const limiter of [shop, ...others]) await useUp(limiter);

    await shop.resetAll();

    await useUp(shop);
    for (const limiter of others) expect((await limiter.peek('ann')).allowed).toBe(false);
  });

  it('forgets the keys of a flood, of which a store has only a hash', async () => {
    silenceWarnings('SLUICE_MEMORY_SATURATED');
    const store = memoryStore({ maxKeys: 4, clock: fakeClock() });
    const flooded = createLimiter({ name: 'flooded', policy: perMinute(1), store });
    const other = createLimiter({ name: 'other', policy: perMinute(1), store });
    const keys = Array.from({ length: 100 }, (_, i) => String(i));
    for (const limiter of [flooded, other]) {
      for (const key of keys) {
        await limiter.consume(key);
        await limiter.consume(key);
      }
    }

    await flooded.resetAll();

    for (const key of keys) {
      expect((await other.peek(key)).allowed).toBe(false);
      expect((await flooded.consume(key)).allowed).toBe(true);
      expect((await flooded.consume(key)).allowed).toBe(false);
    }
  });

  it('lets those that wait in at once, in order, and takes the slot of a running job', async () => {
    const limiter = createLimiter({ policy: perMinute(2) });
    await limiter.consume('key', 2);
    const order: string[] = [];
    const waits = ['a', 'b'].map((name) => limiter.wait('key', { maxWaitMs: 5_000 }).then(() => order.push(name)));
    await limiter.resetAll();
    await Promise.all(waits);
    expect(order).toEqual(['a', 'b']);

    const slots = createLimiter({ policy: concurrency({ limit: 1, ttl: '60ms' }) });
    const lost = slots.run('job', async ({ signal }) => {
      await slots.resetAll();
      await new Promise((resolve) => {
        signal.addEventListener('abort', resolve);
      });
      throw signal.reason as Error;
    });
    await expect(lost).rejects.toMatchObject({ code: 'SLUICE_SLOT_LOST' });
  });

  it('rejects after close', async () => {
    const limiter = createLimiter({ policy: perMinute(1) });
    await limiter.close();

    await expect(limiter.resetAll()).rejects.toMatchObject({ code: 'SLUICE_LIMITER_CLOSED' });
  });

  describe('on a store that cannot list its keys', () => {
    beforeAll(() => {
      silenceWarnings('SLUICE_STORE_AWAY');
    });

    const custom: Store = { source: 'remote', perform: () => [] };
    const lookalike: Store = { ...memoryStore(), source: 'memory', perform: () => [] };
    it.each<[string, () => Store]>([
      ['redisStore', () => redisStore('redis://127.0.0.1:1', { prefix: 'sluice' })],
      ['a store of your own', () => custom],
      ['a store of your own in memory', () => lookalike],
    ])('rejects, and calls nothing: %s', async (_name, store) => {
      const policy = fixedWindow({ limit: 1, window: '1m', align: 'clock' });
      const limiter = createLimiter({ policy, store: store() });

      await expect(limiter.resetAll()).rejects.toMatchObject({
        code: 'SLUICE_RESET_ALL_UNSUPPORTED',
        message: expect.stringContaining('nothing was reset') as unknown,
      });
      await limiter.close();
    });
  });
});
