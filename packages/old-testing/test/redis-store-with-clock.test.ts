import { describe, expect, it } from '@jest/globals';
import express from 'express';
import {
  createLimiter,
  fixedWindow,
  leakyBucket,
  memoryStore,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Policy,
  type RedisStoreOptions,
  type Store,
} from '@sluice/old-core';
import { rateLimit } from '@sluice/express';
import { expectLimited, fakeClock, redisStoreWithClock } from '@sluice/old-testing';
import { useRedis } from '@sluice/testkit';

const redis = useRedis();
/** No decision falls to memory because the machine is busy. */
const UNHURRIED_MS = 10_000;

describe('redisStoreWithClock', () => {
  it.each<[string, Policy]>([
    ['fixedWindow', fixedWindow({ limit: 5, window: '1h', align: 'clock' })],
    ['slidingWindow', slidingWindow({ limit: 5, window: '1d' })],
    ['tokenBucket', tokenBucket({ capacity: 5, refill: 3, every: '7s' })],
    ['leakyBucket', leakyBucket({ limit: 1, window: '1m', maxDelay: '3m' })],
  ])('decides at the instants of the clock, as the memory store does: %s', async (name, policy) => {
    const clock = fakeClock();
    const decisionsOf = async (store: Store): Promise<readonly unknown[]> => {
      clock.atMs = 1_795_262_400_250;
      const limiter = createLimiter({ policy, store, timeoutMs: UNHURRIED_MS });
      const decisions: unknown[] = [];
      for (const ms of [0, 1_000, 59_000, 3_600_000, 80_000_000, -5_000, 86_400_000]) {
        clock.advance(ms);
        for (let i = 0; i < 4; i++) decisions.push({ ...(await limiter.consume('key', 1 + (i % 2))), source: '' });
      }
      const last = await limiter.consume('key');
      await limiter.refund(last);
      await limiter.block('key', '1h');
      clock.advance(3_599_999);
      decisions.push((await limiter.consume('key')).outcome);
      clock.advance(1);
      decisions.push((await limiter.consume('key')).outcome);
      return decisions;
    };

    const inRedis = await decisionsOf(redisStoreWithClock(redis.client, clock, { prefix: `sluice:${name}` }));

    expect(inRedis).toEqual(await decisionsOf(memoryStore({ clock })));
  });

  it('drives an application that is given its store', async () => {
    const clock = fakeClock();
    const store = redisStoreWithClock(redis.client, clock, { prefix: 'sluice:app' });
    const app = express();
    app.use(rateLimit({ policy: fixedWindow({ limit: 2, window: '1h' }), store, timeoutMs: UNHURRIED_MS }));
    app.get('/', (_request, response) => void response.send('hello'));

    await expectLimited(app, { limit: 2 });
    clock.advance(3_599_999);
    await expectLimited(app, { limit: 0 });
    clock.advance(1);
    await expectLimited(app, { limit: 2 });
  });

  it('takes what redisStore takes: a URL, and prefixes that keep tests apart', async () => {
    const clock = fakeClock();
    const policy = fixedWindow({ limit: 1, window: '1h' });
    for (const prefix of ['sluice:a', 'sluice:b']) {
      const store = redisStoreWithClock(redis.server.storeUrl, clock, { prefix });
      const limiter = createLimiter({ policy, store, timeoutMs: UNHURRIED_MS });
      expect((await limiter.consume('key')).allowed).toBe(true);
      expect((await limiter.consume('key')).allowed).toBe(false);
      await limiter.close();
    }
    expect(() => redisStoreWithClock(redis.client, clock, { prefix: 'sluice', prefx: 'a' } as never)).toThrow(/prefix/);
  });

  it.each<[string, unknown, string]>([
    ['nothing', undefined, 'redisStoreWithClock needs a prefix, the name of your application'],
    ['an empty text', '', 'prefix must be'],
    ['braces', '{shop}', 'prefix must be'],
    ['a number', 7, 'prefix must be'],
  ])('takes no %s for a prefix, and shows the line to write', (_what, prefix, message) => {
    const store = (): Store => redisStoreWithClock(redis.client, fakeClock(), { prefix } as RedisStoreOptions);

    expect(store).toThrow(message);
    expect(store).toThrow("redisStoreWithClock(client, clock, { prefix: 'shop' }) [SLUICE_OPTION_INVALID]");
  });

  it('leaves the limits of redisStore as they are', async () => {
    const clock = fakeClock(Date.now() + 3_600_000);
    const policy = fixedWindow({ limit: 1, window: '1h' });
    const real = createLimiter({
      policy,
      timeoutMs: UNHURRIED_MS,
      store: redisStore(redis.client, { prefix: 'sluice:real' }),
    });
    const clocked = createLimiter({
      timeoutMs: UNHURRIED_MS,
      policy,
      store: redisStoreWithClock(redis.client, clock, { prefix: 'sluice:fake' }),
    });

    await clocked.consume('key');

    expect((await real.consume('key')).allowed).toBe(true);
  });
});
