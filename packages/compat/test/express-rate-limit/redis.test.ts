import { describe, expect, it } from '@jest/globals';
import { rateLimit } from '@sluice/compat/express-rate-limit';
import { ExpressStore } from '@sluice/compat/stores';
import { redisStore } from '@sluice/core';
import { until, useRedis } from '@sluice/testkit';
import { Redis } from 'ioredis';
import { serve } from './applications.ts';

describe('on Redis', () => {
  const redis = useRedis();
  const open = (name: string, client = redis.client): ExpressStore =>
    new ExpressStore({ store: redisStore(client, { prefix: 'sluice' }), name, timeoutMs: 60_000 });

  it('two processes allow exactly the limit of many requests at once', async () => {
    const other = new Redis(redis.server.storeUrl);
    const apps = await Promise.all(
      [redis.client, other].map((client) =>
        serve([rateLimit({ limit: 20, windowMs: 3_600_000, store: open('exact', client) })]),
      ),
    );

    const answers = await Promise.all(apps.flatMap(({ get }) => Array.from({ length: 30 }, () => get())));
    await Promise.all(apps.map(({ close }) => close()));
    other.disconnect();

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(40);
  });

  it('hits that are denied count, and are taken back, as in memory', async () => {
    const store = open('counted');
    const app = await serve([rateLimit({ limit: 1, store, skipFailedRequests: true, keyGenerator: () => 'key' })]);
    await app.statuses('/', '/', '/');
    await app.close();

    // Each 429 is a failed request, and does not count in the end.
    expect(await until('the hits are taken back', async () => (await store.get('key'))?.totalHits === 1)).toBe(true);
  });

  it('names keep limiters apart', async () => {
    const [first, second] = [open('first'), open('second')];
    await first.increment('key');

    expect((await first.increment('key')).totalHits).toBe(2);
    expect((await second.increment('key')).totalHits).toBe(1);
  });

  it('rejects to forget all keys, which Redis cannot list', async () => {
    await expect(open('all').resetAll()).rejects.toMatchObject({ code: 'SLUICE_RESET_ALL_UNSUPPORTED' });
  });

  it('a hit is one call', async () => {
    const store = open('calls');
    await store.increment('key');
    await redis.admin.config('RESETSTAT');
    for (let i = 0; i < 5; i++) await store.increment('key');

    const stats = await redis.admin.info('commandstats');

    expect(/^cmdstat_evalsha:calls=(\d+)/m.exec(stats)?.[1]).toBe('5');
  });
});
