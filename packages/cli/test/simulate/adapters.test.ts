import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import * as sluice from '@sluice/express';
import express from 'express';
import { fakeClock } from '@sluice/core/testing';
import { listen, type Listening } from '@sluice/testkit';
import { simulate } from '../../src/simulate/simulate.ts';
import { combinedLog, randomNumbers, START_MS, useSimulate, type LoggedRequest } from './simulated.ts';

const { byAll, byIp, byMethod, fixedWindow, leakyBucket, slidingCounter, slidingLog, slidingWindow, tokenBucket } =
  sluice;
const simulated = useSimulate();
const clock = fakeClock(START_MS);

/** The same limits twice: as the command takes them, and as an application writes them. */
const pairs: readonly (readonly [text: string, options: object])[] = [
  ['fixedWindow --limit 5 --window 10s', { policy: fixedWindow({ limit: 5, window: '10s' }) }],
  [
    'fixedWindow --limit 5 --window 10s --block-for 1m',
    { policy: fixedWindow({ limit: 5, window: '10s', blockFor: '1m' }) },
  ],
  ['slidingWindow --limit 6 --window 10s', { policy: slidingWindow({ limit: 6, window: '10s' }) }],
  ['slidingCounter --limit 6 --window 10s', { policy: slidingCounter({ limit: 6, window: '10s' }) }],
  ['slidingLog --limit 6 --window 10s', { policy: slidingLog({ limit: 6, window: '10s' }) }],
  ['tokenBucket --capacity 4 --refill 1 --every 3s', { policy: tokenBucket({ capacity: 4, refill: 1, every: '3s' }) }],
  [
    'leakyBucket --limit 30 --window 60s --max-delay 1ms',
    { policy: leakyBucket({ limit: 30, window: '60s', maxDelay: '1ms' }) },
  ],
  [
    'slidingWindow --limit 6 --window 10s + tokenBucket --capacity 20 --refill 2 --every 1s --key all + fixedWindow --limit 40 --window 1m --key ip,method',
    {
      limits: [
        { name: 'own', policy: slidingWindow({ limit: 6, window: '10s' }), key: byIp() },
        { name: 'all', policy: tokenBucket({ capacity: 20, refill: 2, every: '1s' }), key: byAll() },
        { name: 'method', policy: fixedWindow({ limit: 40, window: '1m' }), key: [byIp(), byMethod()] },
      ],
    },
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

/** A log in which a few clients come in bursts. */
function generateLog(): readonly LoggedRequest[] {
  const random = randomNumbers(7);
  const requests: LoggedRequest[] = [];
  for (let atMs = START_MS; requests.length < 320; atMs += Math.floor(random() * 9) * 1000) {
    const address = ADDRESSES[Math.floor(random() ** 2 * ADDRESSES.length)] ?? '';
    const count = 1 + Math.floor(random() * 8);
    for (let i = 0; i < count; i++) requests.push({ address, atMs, method: random() < 0.2 ? 'HEAD' : 'GET' });
  }
  return requests;
}

describe('sluice simulate beside an adapter that is sent the same log', () => {
  let server: Listening;
  beforeAll(async () => {
    const app = express().set('trust proxy', 'loopback');
    for (const [i, [, options]] of pairs.entries()) {
      const store = sluice.memoryStore({ clock });
      const limiter = sluice.rateLimit({
        name: `l${String(i)}`,
        store,
        ...('limits' in options ? {} : { key: byIp() }),
        ...options,
      } as never);
      app.use(`/${String(i)}`, limiter as never, (_request, response) => {
        response.end();
      });
    }
    server = await listen(app);
  });
  afterAll(() => server.close());

  const isAllowed = async (i: number, { address = '', method = 'GET' }: LoggedRequest): Promise<boolean> => {
    const url = `http://127.0.0.1:${String(server.port)}/${String(i)}/`;
    const response = await fetch(url, { method, headers: { 'X-Forwarded-For': address } });
    await response.arrayBuffer(); // all of it, for the next request over its connection
    return response.status === 200;
  };

  it('allows and denies the same requests, one by one', async () => {
    const requests = generateLog();
    const decided: boolean[][] = pairs.map(() => []);
    const flags = { policy: pairs.map(([text]) => text), key: 'ip', maxKeys: '1000' };
    const { log } = console;
    console.log = () => undefined;
    await simulate([simulated.file(combinedLog(requests))], flags, false, (_entry, candidate, allowed) => {
      decided[candidate]?.push(allowed);
    }).finally(() => (console.log = log));

    const answered: boolean[][] = [];
    for (const request of requests) {
      clock.advance(request.atMs - clock.now());
      answered.push(await Promise.all(pairs.map((_, i) => isAllowed(i, request))));
    }
    expect(decided).toEqual(pairs.map((_, i) => answered.map((answers) => answers[i])));
    const denied = decided.map((all) => all.filter((allowed) => !allowed).length);
    expect(Math.min(...denied)).toBeGreaterThan(30);
  });
});
