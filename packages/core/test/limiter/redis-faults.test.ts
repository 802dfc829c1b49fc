import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, redisStore, type Limiter } from '@sluice/core';
import { byAll, RequestLimiter } from '@sluice/core/http';
import { expectWarnings, startRedis, until, type RedisServer } from '@sluice/testkit';
import { place, plainFramework, PlainResponse } from '../http/plain-framework.ts';

expectWarnings('SLUICE_STORE_AWAY');

const policy = fixedWindow({ limit: 10, window: '1h' });
const closing: (() => unknown)[] = [];
const unhandled: unknown[] = [];
process.on('unhandledRejection', (error) => unhandled.push(error));
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  expect(unhandled).toEqual([]);
});

async function startServer(...args: readonly string[]): Promise<RedisServer> {
  const server = await startRedis(args);
  closing.push(() => server.stop());
  return server;
}

function limiterAt(url: string, options: object = {}): Limiter {
  const limiter = createLimiter({ policy, store: redisStore(url, { prefix: 'sluice' }), ...options });
  closing.push(() => limiter.close());
  return limiter;
}

/** How a Redis fails, and how it is mended: its data stay, or are gone. */
interface Fault {
  begin(server: RedisServer): unknown;
  end(server: RedisServer): unknown;
}

const FAULTS: Readonly<Record<string, Fault>> = {
  hangs: {
    begin: (server) => {
      server.pause();
    },
    end: (server) => {
      server.resume();
    },
  },
  'was just killed': { begin: (server) => server.kill(), end: (server) => server.restart() },
  'rejects connections': {
    begin: async (server) => {
      await server.kill();
      await sleep(200); // it is noticed, and connecting fails
    },
    end: (server) => server.restart(),
  },
};

describe.each(Object.entries(FAULTS))('what is settled while Redis %s', (_how, { begin, end }) => {
  it('rejects nothing, and Redis decides again afterwards', async () => {
    const server = await startServer();
    const limiter = limiterAt(server.storeUrl);
    const holding = limiterAt(server.storeUrl, { policy: concurrency({ limit: 5, ttl: '1h' }) });
    const more = await limiter.reserve('ann', 2);
    const less = await limiter.reserve('ann', 2);
    const decision = await limiter.consume('ann');
    const { release } = await holding.acquire('ann');
    expect(decision.source).toBe('redis');
    await begin(server);

    await Promise.all([more.settle(4), less.cancel(), limiter.refund(decision), release()]);

    await end(server);
    await until('Redis decides', async () => (await limiter.peek('ann')).source === 'redis');
    await until('the slot is free', async () => (await holding.peek('ann')).used === 0);
  });
});

describe('a request that two limiters check while Redis hangs', () => {
  it('waits once', async () => {
    const server = await startServer();
    const store = redisStore(server.storeUrl, { prefix: 'sluice' });
    await store.ready();
    const limiters = ['one', 'other'].map((name) => {
      return new RequestLimiter([place({ name, policy, key: byAll(), store, timeoutMs: 2000 })], plainFramework);
    });
    closing.push(() => store.close());
    server.pause();
    const [request, response, startMs] = [{}, new PlainResponse(), performance.now()];

    for (const limiter of limiters) await limiter.plan(request, response);

    expect(performance.now() - startMs).toBeLessThan(3900); // one after the other would take 4000 ms
  });
});

describe('the first decision', () => {
  it('waits less than two seconds for a Redis that does not accept the connection', async () => {
    const server = await startServer('--tcp-backlog', '1');
    server.pause();
    await fillBacklog(server);
    const startMs = performance.now();

    expect(await limiterAt(server.storeUrl).consume('ann')).toMatchObject({ source: 'local' });

    expect(performance.now() - startMs).toBeLessThan(1900); // 500 ms; one attempt to connect may take 2000 ms
  });
});

/** Connects until the server accepts no more. */
async function fillBacklog({ port }: RedisServer): Promise<void> {
  for (;;) {
    const socket: Socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    closing.push(() => socket.destroy());
    const isFull = await Promise.race([once(socket, 'connect').then(() => false), sleep(300).then(() => true)]);
    if (isFull) return;
  }
}
