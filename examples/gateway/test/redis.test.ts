import { startRedis, until, type RedisServer } from '@sluice/testkit';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byWindow, Client, gateways, statuses, type Answer } from './client.ts';
import { System } from './system.ts';

/** For tests with many requests, which are slow on a busy machine. */
const LONG_MS = 300_000;
const LIMIT = 60;
const HOUR_MS = 3_600_000;

let redis: RedisServer;
let system: System;
const clients: Client[] = [];

/** A client from an unused address. */
function newClient(connections?: number): Client {
  const client = new Client(system.port, connections);
  clients.push(client);
  return client;
}

beforeAll(async () => {
  redis = await startRedis();
  system = await System.start('--redis', redis.storeUrl, '--limit', String(LIMIT), '--window', '1h');
});

afterAll(async () => {
  for (const client of clients) client.close();
  await system.stop();
  await redis.stop();
});

/** Checks each window of the test: on the hour there are two. */
function expectExactly(answers: readonly Answer[], limit = LIMIT): void {
  for (const { offered, allowed } of byWindow(answers, HOUR_MS)) expect(allowed).toBe(Math.min(offered, limit));
}

describe('a limit in Redis', () => {
  it('holds exactly over both gateways', async () => {
    const answers = await newClient().sendMany(3 * LIMIT, '/orders');

    expect(gateways(answers)).toEqual(['gateway-1', 'gateway-2']);
    expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
    expectExactly(answers);
  });

  it('is one for an address and a service', async () => {
    const [one, other] = [newClient(), newClient()];
    await one.sendMany(3 * LIMIT, '/orders');

    expect((await one.send('/catalog')).status).toBe(200);
    expect((await other.send('/orders')).status).toBe(200);
  });

  it('is one for all paths of a service, in every spelling', async () => {
    const paths = ['/orders', '/orders/7', '/orders/', '/orders?page=2', '/orders/%37'];
    const client = newClient(1);
    const answers = [];
    for (let i = 0; i < 3 * LIMIT; i++) answers.push(await client.send(paths[i % paths.length] ?? ''));

    expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
    expectExactly(answers);
  });

  it('is not escaped with X-Forwarded-For', async () => {
    const answers = await newClient().sendMany(3 * LIMIT, '/orders', (index) => ({
      'X-Forwarded-For': `203.0.113.${String(index)}, 127.0.0.1`,
      'X-Real-IP': `203.0.113.${String(index)}`,
      Forwarded: `for=203.0.113.${String(index)}`,
    }));

    expectExactly(answers);
  });

  it('does not forward denied requests to the service', async () => {
    const before = await system.served('catalog');
    const answers = await newClient().sendMany(3 * LIMIT, '/catalog');

    expect(answers.some(({ status }) => status === 429)).toBe(true);
    expect((await system.served('catalog')) - before).toBe(statuses(answers)['200']);
  });

  it('is not bypassed with preflights of browsers: none reaches a service', async () => {
    const client = newClient();
    const before = await system.served('catalog');
    const preflight = { Origin: 'https://elsewhere.example', 'Access-Control-Request-Method': 'GET' };

    const answers = await Promise.all(
      Array.from({ length: 3 * LIMIT }, async () => client.send('/catalog', preflight, 'OPTIONS')),
    );

    expect(Object.keys(statuses(answers))).toEqual(['404']);
    expect(await system.served('catalog')).toBe(before);
  });
});

describe('an answer through gateway and nginx', () => {
  it('comes from the service, which receives the address of the client', async () => {
    const client = newClient();

    expect(await client.send('/orders', { 'X-Forwarded-For': '203.0.113.9' })).toMatchObject({
      status: 200,
      body: JSON.stringify({ service: 'orders', client: client.address }),
    });
    expect(await client.send('/orders/7')).toMatchObject({ body: '{"service":"orders","id":"7"}' });
    expect((await client.send('/catalog', { 'Content-Type': 'text/plain' }, 'POST', 'a')).status).toBe(201);
  });

  it('carries the RateLimit fields', async () => {
    const { headers } = await newClient().send('/orders');

    expect(headers['ratelimit-policy']).toBe(`"orders";q=${String(LIMIT)};w=3600`);
    expect(headers['ratelimit']).toMatch(new RegExp(`^"orders";r=${String(LIMIT - 1)};t=\\d+$`));
  });

  it('states the wait after a denial', async () => {
    const answers = await newClient().sendMany(3 * LIMIT, '/orders');
    const denied = answers.find(({ status }) => status === 429);

    expect(Number(denied?.headers['retry-after'])).toBeGreaterThan(0);
    expect(JSON.parse(denied?.body ?? '')).toMatchObject({ status: 429, 'violated-policies': ['orders'] });
  });

  it.each([
    [500, '/catalog/broken', '{"service":"catalog","error":"broken"}'],
    [503, '/catalog/busy', '{"service":"catalog"}'],
  ])("forwards a service's own %d, and sends the request once", async (status, path, body) => {
    const before = await system.served('catalog');
    const answer = await newClient().send(path);

    expect(answer).toMatchObject({ status, body });
    expect(answer.headers['ratelimit']).toMatch(/^"catalog";r=/);
    expect((await system.served('catalog')) - before).toBe(1);
  });
});

describe('the health of a gateway', () => {
  it('is available to every client without a limit', async () => {
    const client = newClient();
    await client.sendMany(3 * LIMIT, '/orders');
    const answers = await client.sendMany(3 * LIMIT, '/health');

    expect(statuses(answers)).toEqual({ 200: 3 * LIMIT });
    expect(answers[0]?.headers).not.toHaveProperty('ratelimit');
  });
});

describe.each(['SIGKILL', 'SIGTERM'] as const)('a gateway that is ended by %s under load', (signal) => {
  const MANY = 1000;
  const CONNECTIONS = 8;
  let answers: Answer[];
  let served: number;

  beforeAll(async () => {
    const args = ['--redis', redis.storeUrl, '--limit', String(MANY), '--window', '1h'];
    const larger = await System.start(...args);
    const client = new Client(larger.port, CONNECTIONS);
    let killedAt: number | undefined;
    let isBack = false;
    answers = await client.sendUntil('/catalog', (soFar) => {
      if (soFar.length > MANY / 4 && killedAt === undefined) {
        process.kill(larger.pidOf('gateway-1'), signal);
        killedAt = soFar.length;
      }
      isBack ||= larger.output.includes('gateway-1 has been started again');
      return isBack && soFar.length > 2 * MANY && gateways(soFar.slice(-50)).includes('gateway-1');
    });
    served = await larger.served('catalog');
    client.close();
    await larger.stop();
  }, LONG_MS);

  it('is not noticed by clients', () => {
    expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
  });

  it('allows no extra units, and loses only the units of requests in progress', () => {
    const windows = byWindow(answers, HOUR_MS);

    for (const { offered, allowed } of windows) {
      expect(allowed).toBeLessThanOrEqual(MANY);
      expect(allowed).toBeGreaterThanOrEqual(Math.min(offered, MANY) - CONNECTIONS);
    }
    expect(served).toBeLessThanOrEqual(MANY * windows.length);
  });
});

describe('while Redis is away', () => {
  it('each gateway counts by itself and allows its half, and Redis decides again afterwards', async () => {
    await redis.kill();
    const answers = await newClient().sendMany(3 * LIMIT, '/orders');

    expect(Object.keys(statuses(answers))).toEqual(['200', '429']);
    for (const gateway of ['gateway-1', 'gateway-2']) {
      const own = answers.filter(({ headers }) => headers['x-gateway'] === gateway);
      expect(own.length).toBeGreaterThan(LIMIT / 2);
      expectExactly(own, LIMIT / 2);
    }
    expect(answers.map(({ headers }) => headers['x-counted-in'])).toEqual(answers.map(() => 'local'));

    await redis.restart();
    const client = newClient();
    await until('both count in Redis', async () => {
      const seen = await client.sendMany(8, '/catalog');
      return seen.every(({ headers }) => headers['x-counted-in'] === 'redis');
    });
  });
});
