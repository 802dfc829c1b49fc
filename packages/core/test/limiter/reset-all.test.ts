import { describe, expect, it } from '@jest/globals';
import {
  concurrency,
  createLimiter,
  fixedWindow,
  memoryStore,
  redisStore,
  slidingLog,
  type Limiter,
  type Store,
} from '@sluice/core';

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

  it('ends blocks, forgets counted denials, and frees slots', async () => {
    const store = memoryStore();
    const limiter = createLimiter({ policy: { ...perMinute(1), blockForMs: 3_600_000 }, store });
    const slots = createLimiter({ name: 'slots', policy: concurrency({ limit: 1, ttl: '1h' }), store });
    await limiter.block('ann', '1d');
    await limiter.consume('bob');
    await limiter.consume('bob');
    const held = await slots.acquire('job');

    await limiter.resetAll();
    await slots.resetAll();

    expect((await limiter.consume('ann')).outcome).toBe('allowed');
    await limiter.consume('bob');
    expect((await limiter.consume('bob')).outcome).toBe('blocked');
    const other = await slots.acquire('job');
    expect(other.decision.allowed).toBe(true);
    await held.release();
    expect((await slots.acquire('job')).decision.allowed).toBe(false);
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

  describe('on a store that cannot list its keys', () => {
    const custom: Store = { source: 'remote', perform: () => ({ atMs: 0, figures: [] }) };
    const lookalike: Store = { ...memoryStore(), source: 'memory', perform: () => ({ atMs: 0, figures: [] }) };
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
