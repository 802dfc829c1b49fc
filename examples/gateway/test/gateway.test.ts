import { startRedis, until, type RedisServer } from '@sluice/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { byWindow, Client, seen, type Answer, type WindowCount } from './client.ts';
import { System } from './system.ts';

/** For tests with many requests, which are slow on a busy machine. */
const LONG_MS = 300_000;

let redis: RedisServer;
beforeAll(async () => {
  redis = await startRedis();
});
afterAll(() => redis.stop());

describe('a limit in Redis', () => {
  const LIMIT = 60;
  const HOUR_MS = 3_600_000;
  let system: System;
  const clients: Client[] = [];
  beforeAll(async () => {
    system = await System.start('--redis', redis.storeUrl, '--limit', String(LIMIT), '--window', '1h');
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    system.stop();
    await system.ends();
  });

  function newClient(): Client {
    const client = new Client(system.port);
    clients.push(client);
    return client;
  }

  /** Checks each window of the test: on the hour there are two. */
  function expectExactly(answers: readonly Answer[], limit = LIMIT): void {
    for (const { offered, allowed } of byWindow(answers, HOUR_MS)) expect(allowed).toBe(Math.min(offered, limit));
  }

  it('holds exactly over both gateways and all paths of a service, whatever addresses a client states', async () => {
    const [client, other] = [newClient(), newClient()];
    const before = await system.served('orders');
    const paths = ['/orders', '/orders/7', '/orders/', '/orders?page=2', '/orders/%37'];
    const answers = await Promise.all(
      Array.from({ length: 3 * LIMIT }, async (_, i) =>
        client.send(paths[i % paths.length] as string, {
          'X-Forwarded-For': `203.0.113.${String(i)}, 127.0.0.1`,
          Forwarded: `for=203.0.113.${String(i)}`,
        }),
      ),
    );

    expect(seen(answers, 'x-gateway')).toEqual(['gateway-1', 'gateway-2']);
    expect(seen(answers, 'status')).toEqual(['200', '429']);
    expectExactly(answers);
    const denied = answers.find(({ status }) => status === 429);
    expect(Number(denied?.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(denied?.body ?? '')).toMatchObject({ status: 429, 'violated-policies': ['orders'] });
    expect((await system.served('orders')) - before).toBe(answers.filter(({ status }) => status === 200).length);
    expect([(await client.send('/catalog')).status, (await other.send('/orders')).status]).toEqual([200, 200]);
  });

  it("forwards the service's own answer once, with the RateLimit fields, and the address of the client to it", async () => {
    const client = newClient();
    const before = await system.served('catalog');
    const [answer, busy] = [await client.send('/orders'), await client.send('/catalog/busy')];

    expect(answer).toMatchObject({ status: 200, body: JSON.stringify({ service: 'orders', client: client.address }) });
    expect(answer.headers['ratelimit-policy']).toBe(`"orders";q=${String(LIMIT)};w=3600`);
    expect(busy).toMatchObject({ status: 503, body: '{"service":"catalog"}' });
    expect(busy.headers['ratelimit']).toMatch(/^"catalog";r=59/);
    expect((await system.served('catalog')) - before).toBe(1);
  });

  it.each(['SIGKILL', 'SIGTERM'] as const)(
    'loses at most the requests in progress if a gateway is ended by %s, which no client notices',
    async (signal) => {
      const MANY = 1000;
      const CONNECTIONS = 8;
      const larger = await System.start('--redis', redis.storeUrl, '--limit', String(MANY), '--window', '1h');
      const client = new Client(larger.port, CONNECTIONS);
      const before = await client.sendMany(MANY / 4, '/catalog');
      const during = client.sendMany(MANY / 4, '/catalog');
      process.kill(larger.pidOf('gateway-1'), signal);
      const answers = [...before, ...(await during), ...(await client.sendMany(MANY, '/catalog'))];

      expect(seen(answers, 'status')).toEqual(['200', '429']);
      expect(seen(answers.slice(-50), 'x-gateway')).toEqual(['gateway-2']);
      for (const { offered, allowed } of byWindow(answers, HOUR_MS)) {
        expect(allowed).toBeLessThanOrEqual(MANY);
        expect(allowed).toBeGreaterThanOrEqual(Math.min(offered, MANY) - CONNECTIONS);
      }
      client.close();
      larger.stop();
      expect(await larger.ends()).toBe(0);
    },
    LONG_MS,
  );

  it('is half as large in each gateway while Redis is away, and counted there again afterwards', async () => {
    await redis.kill();
    const answers = await newClient().sendMany(3 * LIMIT, '/orders');

    expect([seen(answers, 'status'), seen(answers, 'x-counted-in')]).toEqual([['200', '429'], ['local']]);
    for (const gateway of ['gateway-1', 'gateway-2'])
      expectExactly(
        answers.filter(({ headers }) => headers['x-gateway'] === gateway),
        LIMIT / 2,
      );

    await redis.restart();
    const client = newClient();
    await until('both count in Redis', async () => {
      return seen(await client.sendMany(8, '/catalog'), 'x-counted-in').join() === 'redis';
    });
  });
});

describe('a limit that three gateways split 3:1:1, as they get the traffic', () => {
  const LIMIT = 100;
  const WINDOW_MS = 3000; // so long that a slow machine sends enough in it
  const SHARES = { 'gateway-1': 60, 'gateway-2': 20, 'gateway-3': 20 };

  it(
    'is allowed in every window, but for at most 5 %, by the weights, and asks Redis nothing',
    async () => {
      const options = ['--weights', '3,1,1', '--limit', String(LIMIT), '--window', `${String(WINDOW_MS)}ms`];
      const system = await System.start('--store', 'split', '--redis', redis.url, ...options);
      const client = new Client(system.port, 16);
      /** Whole windows, without the first two: shares grow only after the grace time. */
      const wholeWindows = (of: readonly Answer[]): WindowCount[] => byWindow(of, WINDOW_MS).slice(3, -1);
      const busy = (of: readonly Answer[]): WindowCount[] =>
        wholeWindows(of).filter(({ offered }) => offered >= 3 * LIMIT);
      const answers: Answer[] = [];
      while (busy(answers).length < 3) answers.push(...(await client.sendMany(200, '/orders')));

      expect(seen(answers, 'status')).toEqual(['200', '429']);
      expect(wholeWindows(answers).filter(({ allowed }) => allowed > LIMIT)).toEqual([]);
      expect(busy(answers).filter(({ allowed }) => allowed < 0.95 * LIMIT)).toEqual([]);
      for (const [gateway, share] of Object.entries(SHARES)) {
        const own = answers.filter(({ headers }) => headers['x-gateway'] === gateway);
        expect(Math.abs(own.length / answers.length - share / LIMIT)).toBeLessThan(0.03);
        expect(wholeWindows(own).filter(({ allowed }) => allowed > share)).toEqual([]);
      }
      expect(seen(answers, 'x-counted-in')).toEqual(['split']);
      const admin = new Redis(redis.url);
      expect(await admin.keys(`*${client.address}*`)).toEqual([]);
      admin.disconnect();
      client.close();
      system.stop();
      expect(await system.ends()).toBe(0);
    },
    LONG_MS,
  );
});

describe('the start', () => {
  it('has a Redis of its own, all of which ends on SIGTERM', async () => {
    const system = await System.start();
    const pids = ['gateway-1', 'gateway-2', 'orders', 'catalog'].map((role) => system.pidOf(role));
    system.stop();

    expect(await system.ends()).toBe(0);
    expect(pids.map(lives)).toEqual([false, false, false, false]);
    await expect(fetch(`http://127.0.0.1:${String(system.port)}`)).rejects.toThrow('fetch failed');
  });
});

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
