import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { concurrency, createLimiter, fixedWindow, redisStore, silenceWarnings } from '@sluice/old-core';
import { startRedis, type RedisServer } from '@sluice/testkit';

const SUBJECTS = Array.from({ length: 400 }, (_, i) => `job-${String(i)}`);
const FLOOD = Array.from({ length: 4_000 }, (_, i) => `client-${String(i)}`);

let server: RedisServer;
let client: Redis;
beforeAll(async () => {
  server = await startRedis(['--maxmemory-policy', 'allkeys-random']);
  client = new Redis(server.url);
});
afterAll(async () => {
  client.disconnect();
  await server.stop();
});

it('a server that evicts any key loses slots only with both of their keys, fails no call, and keeps no key for ever', async () => {
  silenceWarnings('SLUICE_REDIS_EVICTS');
  const own = { store: redisStore(client, { prefix: 'sluice' }), onStoreError: 'throw', timeoutMs: 60_000 } as const;
  const slots = createLimiter({ name: 'slots', policy: concurrency({ limit: 1, ttl: '1h' }), ...own });
  const window = createLimiter({ name: 'window', policy: fixedWindow({ limit: 5, window: '1h' }), ...own });
  await Promise.all(SUBJECTS.map(async (subject) => slots.acquire(subject)));

  const used = Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
  await client.config('SET', 'maxmemory', String(used + 200_000));
  const flooded = [];
  for (const subject of FLOOD) flooded.push((await window.consume(subject)).allowed);
  await client.config('SET', 'maxmemory', '0');

  const left = await Promise.all(
    SUBJECTS.map(async (subject) => {
      const value = `sluice:{${subject}}:slots:2c`;
      return [await client.exists(value), await client.exists(`${value}:c1`)].join(' and ');
    }),
  );
  const again = await Promise.all(SUBJECTS.map(async (subject) => slots.acquire(subject)));

  expect(new Set(left)).toEqual(new Set(['0 and 0', '0 and 1', '1 and 0', '1 and 1']));
  expect(again.map(({ decision }) => decision.allowed)).toEqual(left.map((what) => what === '0 and 0'));
  expect(new Set(flooded)).toEqual(new Set([true]));
  const keys = await client.keys('*');
  const expiries = await Promise.all(keys.map(async (key) => client.pttl(key)));
  expect(expiries.filter((ms) => ms <= 0)).toEqual([]);
  await Promise.all([slots.close(), window.close()]);
});
