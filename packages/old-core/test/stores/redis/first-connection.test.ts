import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { createLimiter, fixedWindow, leakyBucket, redisStore, type Limiter, type Policy } from '@sluice/old-core';
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
  jest.useRealTimers();
});

function limiterAt(url: string, connectTimeoutMs?: number, policy: Policy = fixedWindow({ limit: 10, window: '1h' })) {
  const store = redisStore(url, { prefix: 'sluice', ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }) });
  const limiter = createLimiter({ name: `first-${String(names++)}`, policy, store, timeoutMs: TIMEOUT_MS });
  open.push(limiter);
  return limiter;
}

const sourceOf = async (limiter: Limiter): Promise<string> => (await limiter.consume('key')).source;
/** From here on, the timers of stores and limiters run when a test says so; sockets stay real. */
const stopTimers = (): void => {
  jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'Date', 'performance'] });
};
/** Lets several times `timeoutMs` pass while Redis hangs, in which none of these decisions may end; then heals it. */
const slowly = async (first: readonly Promise<string>[]): Promise<string[]> => {
  let ended = 0;
  for (const decision of first) void decision.finally(() => ended++);
  await until('it connects', () => proxy.connections === 1);
  await jest.advanceTimersByTimeAsync(4 * TIMEOUT_MS);
  expect(ended).toBe(0);
  await proxy.heal();
  return Promise.all(first);
};

/** Resolves when the next connection that this process tries to make has failed or ended, and its client knows. */
async function nextConnectionCloses(): Promise<void> {
  const channel = 'net.client.socket';
  await new Promise<void>((resolve) => {
    const seen = (message: unknown): void => {
      unsubscribe(channel, seen);
      const { socket } = message as { readonly socket: Socket };
      socket.once('close', () => {
        resolve();
      });
    };
    subscribe(channel, seen);
  });
  await new Promise(setImmediate);
}

describe('the first connection of a store for a URL', () => {
  it('is made when a limiter takes the store', async () => {
    limiterAt(proxy.through(redis.server.storeUrl));

    await until('it connects', () => proxy.connections === 1);
  });

  it('is waited for by all decisions, whatever their timeoutMs', async () => {
    stopTimers();
    proxy.hang();
    const limiter = limiterAt(proxy.through(redis.server.storeUrl));
    const first = [sourceOf(limiter), sourceOf(limiter), limiter.peek('key').then(({ source }) => source)];

    expect(await slowly(first)).toEqual(['redis', 'redis', 'redis']);
    expect(await sourceOf(limiter)).toBe('redis');
  });

  it('is waited for by a decision that asks twice', async () => {
    stopTimers();
    proxy.hang();
    const line = leakyBucket({ limit: 1, window: '1h', maxDelay: '1h' });
    const limiter = limiterAt(proxy.through(redis.server.storeUrl), undefined, line);
    const first = [sourceOf(limiter), limiter.reserve('other', 1).then(({ decision }) => decision.source)];

    expect(await slowly(first)).toEqual(['redis', 'redis']);
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
    stopTimers();
    const url = proxy.through(redis.server.storeUrl);
    const limiter = limiterAt(url, TOO_LONG_MS);
    expect(await sourceOf(limiter)).toBe('redis');
    proxy.hang();
    let ended = false;
    const late = sourceOf(limiter).finally(() => (ended = true));
    await new Promise(setImmediate);

    await jest.advanceTimersByTimeAsync(TIMEOUT_MS - 1);
    expect(ended).toBe(false);
    await jest.advanceTimersByTimeAsync(1);
    expect(await late).toBe('local');
  });

  it('is tried again by the first decision where Redis started later than the process', async () => {
    const server = await startRedis();
    await server.kill();
    stopTimers();
    const failed = nextConnectionCloses();
    const limiter = limiterAt(server.storeUrl);
    await failed;
    await server.restart();

    expect(await sourceOf(limiter)).toBe('redis');
    await server.stop();
  });
});

describe('connectTimeoutMs', () => {
  it.each([0, -1, 1.5, '2s', Infinity])('cannot be %p', (connectTimeoutMs) => {
    expect(() =>
      redisStore('redis://127.0.0.1', { prefix: 'sluice', connectTimeoutMs: connectTimeoutMs as number }),
    ).toThrow('connectTimeoutMs must be a whole number of milliseconds, from 1 to');
  });

  it('is an error beside a client, which connects by itself', () => {
    expect(() => redisStore(redis.client, { prefix: 'sluice', connectTimeoutMs: 100 })).toThrow(
      'connectTimeoutMs needs a URL; your own client connects itself',
    );
  });
});
