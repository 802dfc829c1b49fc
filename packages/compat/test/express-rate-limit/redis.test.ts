import { describe, expect, it } from '@jest/globals';
import { rateLimit } from '@sluice/compat/express-rate-limit';
import { ExpressStore } from '@sluice/compat/stores';
import { redisStore } from '@sluice/old-core';
import { useRedis } from '@sluice/testkit';
import { Redis } from 'ioredis';
import { served } from './applications.ts';

describe('on Redis', () => {
  const redis = useRedis();
  const storeOf = (name: string, client = redis.client): ExpressStore =>
    new ExpressStore({ store: redisStore(client, { prefix: 'sluice' }), name, timeoutMs: 60_000 });

  it('two processes allow exactly the limit of many requests at once', async () => {
    const other = new Redis(redis.server.storeUrl);
    const running = await Promise.all(
      [redis.client, other].map((client) =>
        served([rateLimit({ limit: 20, windowMs: 3_600_000, store: storeOf('exact', client) })]),
      ),
    );

    const answers = await Promise.all(running.flatMap(({ get }) => Array.from({ length: 30 }, () => get())));
    await Promise.all(running.map(({ close }) => close()));
    other.disconnect();

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
  });

  it('hits that are denied count, and are taken back, as in memory', async () => {
    const store = storeOf('counted');
    const running = await served([rateLimit({ limit: 1, store, skipFailedRequests: true, keyGenerator: () => 'key' })]);
    await running.get();
    await running.get();
    await running.get();
    await running.close();

    // Each 429 is a failed request, and does not count in the end.
    let hits = await store.get('key');
    for (let i = 0; i < 1000 && hits?.totalHits !== 1; i++) {
      await new Promise((resolve) => setTimeout(resolve, 10));
      hits = await store.get('key');
    }
    expect(hits?.totalHits).toBe(1);
  });

  it('names keep limiters apart, and a limit that changes keeps what was counted', async () => {
    const [first, second] = [storeOf('first'), storeOf('second')];
    for (const limit of [1, 2, 3]) await first.increment('key', limit);

    expect((await first.increment('key')).totalHits).toBe(4);
    expect((await second.increment('key')).totalHits).toBe(1);
  });

  it('a hit is one call', async () => {
    const store = storeOf('calls');
    await store.increment('key', 1);
    await redis.admin.config('RESETSTAT');
    for (let i = 0; i < 5; i++) await store.increment('key', 1);

    const stats = await redis.admin.info('commandstats');
    const calls = [...stats.matchAll(/^cmdstat_(eval|evalsha|script[^:]*|get|set|incr):calls=(\d+)/gm)];
    const sent = calls.filter(([, name]) => name?.startsWith('eval') === true);
    expect(sent.map(([, , n]) => Number(n))).toEqual([5]);
  });
});
