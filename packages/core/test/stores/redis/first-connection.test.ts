import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLimiter, fixedWindow, leakyBucket, redisStore, type Limiter, type Policy } from '@sluice/core';
import { freePort, startRedis, startTcpProxy, until, useRedis, type TcpProxy } from '@sluice/testkit';

const TIMEOUT_MS = 50;
/** A decision that takes longer is one that waits for nothing. */
const TOO_LONG_MS = 10_000;

const redis = useRedis();
const open: Limiter[] = [];
let proxy: TcpProxy;
let names = 0;

beforeEach(async () => {
  proxy = await startTcpProxy(redis.server);
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((limiter) => limiter.close()));
  proxy.close();
});

function limiterAt(url: string, connectTimeoutMs?: number, policy: Policy = fixedWindow({ limit: 10, window: '1h' })) {
  const store = redisStore(url, connectTimeoutMs === undefined ? {} : { connectTimeoutMs });
  const limiter = createLimiter({ name: `first-${String(names++)}`, policy, store, timeoutMs: TIMEOUT_MS });
  open.push(limiter);
  return limiter;
}

const sourceOf = async (limiter: Limiter): Promise<string> => (await limiter.consume('key')).source;
const slowly = async (): Promise<void> => {
  await new Promise((resolve) => setTimeout(resolve, 4 * TIMEOUT_MS));
  await proxy.heal();
};

describe('the first connection of a store for a URL', () => {
  it('is made when a limiter takes the store', async () => {
    limiterAt(proxy.through(redis.server.storeUrl));

    await until('it connects', () => proxy.connections === 1);
  });

  it('is waited for by all decisions, whatever their timeoutMs', async () => {
    proxy.hang();
    const limiter = limiterAt(proxy.through(redis.server.storeUrl));
    const first = [sourceOf(limiter), sourceOf(limiter), limiter.peek('key').then(({ source }) => source)];
    await slowly();

    expect(await Promise.all(first)).toEqual(['redis', 'redis', 'redis']);
    expect(await sourceOf(limiter)).toBe('redis');
  });

  it('is waited for by a decision that asks twice', async () => {
    proxy.hang();
    const line = leakyBucket({ limit: 1, window: '1h', maxDelay: '1h' });
    const limiter = limiterAt(proxy.through(redis.server.storeUrl), undefined, line);
    const first = Promise.all([sourceOf(limiter), limiter.reserve('other', 1).then(({ decision }) => decision.source)]);
    await slowly();

    expect(await first).toEqual(['redis', 'redis']);
  });

  it('is not waited for once an attempt has failed', async () => {
    const startMs = performance.now();
    const limiter = limiterAt(`redis://127.0.0.1:${String(await freePort())}`, TOO_LONG_MS);

    expect(await sourceOf(limiter)).toBe('local');
    expect(performance.now() - startMs).toBeLessThan(TOO_LONG_MS);
  });

  it('is not waited for longer than connectTimeoutMs, and timeoutMs holds after that', async () => {
    proxy.hang();
    const startMs = performance.now();
    const limiter = limiterAt(proxy.through(redis.server.storeUrl), 200);

    expect(await sourceOf(limiter)).toBe('local');
    expect(performance.now() - startMs).toBeGreaterThanOrEqual(190);
    const second = await limiter.consume('key');
    expect(second.source).toBe('local');
    await proxy.heal();
    await until('Redis decides', async () => (await sourceOf(limiter)) === 'redis');
  });

  it('leaves timeoutMs as it is once it stands', async () => {
    const url = proxy.through(redis.server.storeUrl);
    const limiter = limiterAt(url, TOO_LONG_MS);
    expect(await sourceOf(limiter)).toBe('redis');
    proxy.hang();
    const startMs = performance.now();

    expect(await sourceOf(limiter)).toBe('local');
    expect(performance.now() - startMs).toBeLessThan(TOO_LONG_MS);
  });

  it('is tried again by the first decision where Redis started later than the process', async () => {
    const server = await startRedis();
    await server.kill();
    const limiter = limiterAt(server.storeUrl);
    await new Promise((resolve) => setTimeout(resolve, 4 * TIMEOUT_MS)); // the attempt of the start has failed
    await server.restart();

    expect(await sourceOf(limiter)).toBe('redis');
    await server.stop();
  });
});

describe('connectTimeoutMs', () => {
  it.each([0, -1, 1.5, '2s', Infinity])('cannot be %p', (connectTimeoutMs) => {
    expect(() => redisStore('redis://127.0.0.1', { connectTimeoutMs: connectTimeoutMs as number })).toThrow(
      'connectTimeoutMs must be a whole number of milliseconds, from 1 to',
    );
  });

  it('is an error beside a client, which connects by itself', () => {
    expect(() => redisStore(redis.client, { connectTimeoutMs: 100 })).toThrow(
      'connectTimeoutMs is for a store whose Redis is a URL: a client that is handed in connects by itself',
    );
  });
});
