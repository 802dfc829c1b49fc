import { afterEach, expect, it, jest } from '@jest/globals';
import * as ioredis5 from 'ioredis-5';
import type { Limiter } from '@sluice/old-core';
import { startTcpProxy, until, useRedis } from '@sluice/testkit';

jest.unstable_mockModule('ioredis', () => ioredis5);
const { createLimiter, fixedWindow, redisStore } = await import('@sluice/old-core');

const redis = useRedis();
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

/** With a proxy whose way to the server takes time: version 5 sends what follows before the answer to SELECT. */
async function limiterOn(database: number): Promise<Limiter> {
  const proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
  proxy.delay(20);
  const store = redisStore(`${proxy.through(redis.server.url)}/${String(database)}`, {
    prefix: 'sluice',
    breaker: false,
  });
  const policy = fixedWindow({ limit: 1000, window: '1h' });
  const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
  closing.push(
    () => limiter.close(),
    () => {
      proxy.close();
    },
  );
  return limiter;
}

it('a store of a URL counts in its database, which is selected before the first decision', async () => {
  const limiter = await limiterOn(3);
  await Promise.all(Array.from({ length: 10 }, async () => limiter.consume('key')));

  expect((await limiter.peek('key')).remaining).toBe(990);
  expect(await redis.admin.info('keyspace')).toMatch(/^# Keyspace\r\ndb3:keys=1,/);
});

it('a store of a URL counts nothing in database 0 where its own is not there', async () => {
  const other = await limiterOn(0);
  await other.consume('key'); // the server knows the script from here on
  await redis.admin.flushall();
  const limiter = await limiterOn(99);
  const calls = async (): Promise<PromiseSettledResult<unknown>[]> =>
    Promise.allSettled(Array.from({ length: 10 }, async () => limiter.consume('key')));

  await until('the connection was made several times', async () => {
    const settled = await calls();
    expect(settled.map(({ status }) => status)).toEqual(settled.map(() => 'rejected'));
    return Number(/total_connections_received:(\d+)/.exec(await redis.admin.info('stats'))?.[1]) > 6;
  });
  expect(await redis.admin.dbsize()).toBe(0);
});
