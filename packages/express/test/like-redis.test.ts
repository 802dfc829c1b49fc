import { once } from 'node:events';
import { Agent, createServer, request, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import express from 'express';
import {
  byAll,
  byIp,
  byRoute,
  fixedWindow,
  memoryStore,
  rateLimit,
  slidingWindow,
  tokenBucket,
  type Store,
} from '@sluice/express';
import { fakeClock, useRedis, virtualRedisStore, type FakeClock } from '@sluice/testkit';

const redis = useRedis();
const START_MS = Date.UTC(2015, 4, 18, 10, 5, 3);
/** Redis sets expiries by the present time: its instants are whole days later. */
const ERA_MS = (Math.floor((Date.now() - START_MS) / 86_400_000) + 2) * 86_400_000;

interface Sent {
  readonly address: string;
  readonly second: number;
  readonly method: string;
  readonly path: string;
}

const many = (count: number, make: (i: number) => Sent): Sent[] => Array.from({ length: count }, (_, i) => make(i));

/** A client that stays within every limit, one that hurries, and one that changes its address within its network. */
const requests = [
  ...many(60, (i) => ({ address: '192.0.2.1', second: i * 10, method: 'GET', path: `/blog/${String(i)}?page=1` })),
  ...many(120, (i) => ({
    address: '198.51.100.7',
    second: Math.floor(i / 4),
    method: i % 3 === 0 ? 'HEAD' : 'GET',
    path: '/presentations/%E8%F1',
  })),
  ...many(80, (i) => ({
    address: `2001:db8:1:2:${String(i)}::1`,
    second: Math.floor(i / 2),
    method: 'POST',
    path: '/search',
  })),
].sort((a, b) => a.second - b.second);

/** Sends all requests, one after the other, and returns status and header fields of each response. */
async function send(storeOf: (clock: FakeClock) => Store): Promise<string[]> {
  const clock = fakeClock(START_MS);
  const limiter = rateLimit({
    limits: [
      { name: 'per-address', policy: slidingWindow({ limit: 30, window: '1m' }), key: byIp() },
      {
        name: 'per-address-and-route',
        policy: tokenBucket({ capacity: 15, refill: 1, every: '3s' }),
        key: [byIp(), byRoute()],
      },
      { name: 'per-route', policy: fixedWindow({ limit: 1_000, window: '1h', align: 'clock' }), key: byRoute() },
      { name: 'all-clients', policy: tokenBucket({ capacity: 100, refill: 100, every: '1m' }), key: byAll() },
    ],
    store: storeOf(clock),
    onStoreError: 'throw',
    timeoutMs: 60_000,
  });
  const app = express().set('trust proxy', 'loopback');
  // Patterns without parameters: paths that cannot be decoded are requests too.
  for (const route of [/^\/blog(?:\/|$)/, /^\/presentations(?:\/|$)/, /^/]) {
    app.all(route, limiter, (_request, response) => void response.end('ok'));
  }
  const server = createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const { port } = server.address() as AddressInfo;
  const answers = [];
  for (const { address, second, method, path } of requests) {
    clock.atMs = START_MS + second * 1000;
    const sent = request({ agent, host: '127.0.0.1', port, method, path, headers: { 'X-Forwarded-For': address } });
    sent.end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    response.resume();
    await once(response, 'end');
    answers.push([response.statusCode, response.headers['ratelimit'], response.headers['retry-after']].join(' '));
  }
  agent.destroy();
  server.close();
  return answers;
}

it('answers the same requests alike in memory and on Redis, with the same status and header fields', async () => {
  const inMemory = await send((clock) => memoryStore({ clock }));
  const onRedis = await send((clock) => virtualRedisStore(redis.client, clock, { prefix: 'sluice' }, ERA_MS));

  expect(onRedis).toEqual(inMemory);
  // The hurried clients get 15 at once and one more every 3 seconds, 24 in 29 seconds and 28 in 39.
  expect(inMemory.filter((answer) => answer.startsWith('200'))).toHaveLength(112);
  expect(inMemory.filter((answer) => answer.startsWith('429'))).toHaveLength(148);
});
