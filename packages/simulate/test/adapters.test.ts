import { once } from 'node:events';
import { Agent, createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  byAll,
  byIp,
  byMethod,
  fixedWindow,
  leakyBucket,
  memoryStore,
  rateLimit,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '@sluice/express';
import { fakeClock } from '@sluice/testkit';
import express, { type RequestHandler } from 'express';
import { combinedLog, randomNumbers, START_MS, useSimulate, type LoggedRequest } from './simulated.ts';

const simulated = useSimulate();
const clock = fakeClock(START_MS);
const store = () => memoryStore({ clock });
const per = { key: byIp() };

/** The same limits twice: as the command takes them, and as an application writes them. */
const pairs: readonly (readonly [text: string, limiter: () => RequestHandler])[] = [
  [
    'fixedWindow --limit 5 --window 10s',
    () => rateLimit({ name: 'a', policy: fixedWindow({ limit: 5, window: '10s' }), store: store(), ...per }),
  ],
  [
    'slidingWindow --limit 6 --window 10s',
    () => rateLimit({ name: 'b', policy: slidingWindow({ limit: 6, window: '10s' }), store: store(), ...per }),
  ],
  [
    'slidingCounter --limit 6 --window 10s',
    () => rateLimit({ name: 'c', policy: slidingCounter({ limit: 6, window: '10s' }), store: store(), ...per }),
  ],
  [
    'slidingLog --limit 6 --window 10s',
    () => rateLimit({ name: 'd', policy: slidingLog({ limit: 6, window: '10s' }), store: store(), ...per }),
  ],
  [
    'tokenBucket --capacity 4 --refill 1 --every 3s',
    () =>
      rateLimit({ name: 'e', policy: tokenBucket({ capacity: 4, refill: 1, every: '3s' }), store: store(), ...per }),
  ],
  [
    'leakyBucket --limit 30 --window 60s --max-delay 1ms',
    () =>
      rateLimit({
        name: 'f',
        policy: leakyBucket({ limit: 30, window: '60s', maxDelay: '1ms' }),
        store: store(),
        ...per,
      }),
  ],
  [
    'slidingWindow --limit 6 --window 10s --name own + tokenBucket --capacity 20 --refill 2 --every 1s --name all --key all + fixedWindow --limit 40 --window 1m --name method --key ip,method',
    () =>
      rateLimit({
        name: 'h',
        limits: [
          { name: 'own', policy: slidingWindow({ limit: 6, window: '10s' }), key: byIp() },
          { name: 'all', policy: tokenBucket({ capacity: 20, refill: 2, every: '1s' }), key: byAll() },
          { name: 'method', policy: fixedWindow({ limit: 40, window: '1m' }), key: [byIp(), byMethod()] },
        ],
        store: store(),
      }),
  ],
];

const ADDRESSES = [
  '203.0.113.7',
  '2001:db8:0:1::5',
  '2001:db8:0:1::6',
  '::ffff:203.0.113.7',
  '198.51.100.2',
  '192.0.2.9',
];

/** A log in which a few clients come in bursts, some lines of it out of order. */
function generatedLog(): readonly LoggedRequest[] {
  const random = randomNumbers(7);
  const requests: LoggedRequest[] = [];
  for (let atMs = START_MS; requests.length < 320; atMs += Math.floor(random() * 9) * 1000) {
    const address = ADDRESSES[Math.floor(random() ** 2 * ADDRESSES.length)] ?? '';
    const count = 1 + Math.floor(random() * 8);
    for (let i = 0; i < count; i++) {
      requests.push({ address, atMs: atMs + Math.floor(random() * 4) * 1000, method: random() < 0.2 ? 'HEAD' : 'GET' });
    }
  }
  return requests;
}

describe('sluice simulate beside an adapter that is sent the same log', () => {
  let server: Server;
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  beforeAll(async () => {
    const app = express().set('trust proxy', 'loopback');
    for (const [i, [, limiter]] of pairs.entries()) {
      app.use(`/${String(i)}`, limiter(), (_request, response) => {
        response.end();
      });
    }
    server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterAll(() => {
    agent.destroy();
    server.close();
  });

  const isAllowed = async (path: string, { address = '', method = 'GET' }: LoggedRequest): Promise<boolean> => {
    const { port } = server.address() as AddressInfo;
    const sent = httpRequest({
      agent,
      port,
      host: '127.0.0.1',
      path,
      method,
      headers: { 'X-Forwarded-For': address },
    }).end();
    const [response] = (await once(sent, 'response')) as [import('node:http').IncomingMessage];
    response.resume();
    await once(response, 'end');
    return response.statusCode === 200;
  };

  it('allows and denies the same requests, one by one', async () => {
    const requests = generatedLog();
    const decisions = simulated.path('decisions');
    const log = simulated.file(combinedLog(requests));

    await simulated.report(log, '--decisions', decisions, ...pairs.flatMap(([text]) => ['--policy', text]));

    const lines = simulated.read('decisions').trimEnd().split('\n');
    const found = lines.map((line) => JSON.parse(line) as { line: number; candidate: number; allowed: boolean });
    const expected = new Map(
      found.map(({ line, candidate, allowed }) => [`${String(candidate)} ${String(line)}`, allowed]),
    );
    const inOrder = requests
      .map((request, i) => ({ request, line: i + 1 }))
      .sort((one, other) => one.request.atMs - other.request.atMs);
    const different: string[] = [];
    const denied = pairs.map(() => 0);
    for (const { request, line } of inOrder) {
      clock.atMs = request.atMs;
      const answers = await Promise.all(pairs.map((_, i) => isAllowed(`/${String(i)}/`, request)));
      for (const [i, allowed] of answers.entries()) {
        if (!allowed) denied[i] = (denied[i] ?? 0) + 1;
        if (expected.get(`${String(i)} ${String(line)}`) !== allowed)
          different.push(`${String(i)} line ${String(line)}`);
      }
    }
    expect(different).toEqual([]);
    expect(found).toHaveLength(requests.length * pairs.length);
    expect(Math.min(...denied)).toBeGreaterThan(30);
  });
});
