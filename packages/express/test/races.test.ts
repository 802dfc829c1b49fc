import type { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  memoryStore,
  rateLimit,
  redisStore,
  slidingWindow,
  tokenBucket,
  type Store,
} from '@sluice/express';
import { startRedis, type RedisServer } from '@sluice/testkit';
import { Redis } from 'ioredis';
import { frameworks } from './frameworks.ts';
import { exchange, listen, open, received, statuses } from '@sluice/testkit';

const request = (last: boolean): string => `GET / HTTP/1.1\r\nHost: test\r\n${last ? 'Connection: close\r\n' : ''}\r\n`;

describe.each(frameworks.flatMap((framework) => ['memory', 'Redis'].map((kind) => ({ ...framework, kind }))))(
  '$version over $kind',
  ({ express, kind }) => {
    let server: RedisServer | undefined;
    let client: Redis | undefined;
    let stores = 0;
    beforeAll(async () => {
      if (kind === 'memory') return;
      server = await startRedis();
      client = new Redis(server.url);
    });
    afterAll(async () => {
      client?.disconnect();
      await server?.stop();
    });
    const newStore = (): Store =>
      client === undefined ? memoryStore() : redisStore(client, { prefix: `r${String(stores++)}` });

    // Limits that give nothing back while the test runs.
    describe.each([
      ['fixedWindow', (limit: number) => fixedWindow({ limit, window: '1d' })],
      ['slidingWindow', (limit: number) => slidingWindow({ limit, window: '10d' })],
      ['tokenBucket', (limit: number) => tokenBucket({ capacity: limit, refill: 1, every: '30d' })],
    ])('with %s', (_name, policyOf) => {
      const appWith = (limit: number) => {
        const app = express();
        let handled = 0;
        app.use(
          rateLimit({ policy: policyOf(limit), store: newStore(), onStoreError: 'throw', timeoutMs: 60_000 }),
          (_request, response) => {
            handled++;
            response.send('handled');
          },
        );
        return { app, handled: () => handled };
      };

      it('admits exactly 3 of 5 requests that are pipelined on one connection', async () => {
        const { app, handled } = appWith(3);
        const { port, close } = await listen(app);

        const text = await exchange(port, request(false).repeat(4) + request(true));
        await close();

        expect(statuses(text)).toEqual([200, 200, 200, 429, 429]);
        expect(handled()).toBe(3);
      });

      it('admits exactly 5 of 200 connections whose last bytes come together', async () => {
        const { app, handled } = appWith(5);
        const { server: http, port, close } = await listen(app);
        let accepted = 0;
        const allAccepted = new Promise<void>((resolve) => {
          http.on('connection', () => {
            if (++accepted === 200) resolve();
          });
        });
        const sockets: Socket[] = [];
        for (let i = 0; i < 200; i++) sockets.push(await open(port));
        const answers = sockets.map(received);
        await Promise.all(
          sockets.map((socket) => new Promise((resolve) => socket.write(request(true).slice(0, -1), resolve))),
        );
        await allAccepted;

        for (const socket of sockets) socket.write('\n');
        const outcomes = (await Promise.all(answers)).flatMap(statuses);
        await close();

        expect(outcomes.filter((status) => status === 200)).toHaveLength(5);
        expect(outcomes.filter((status) => status === 429)).toHaveLength(195);
        expect(handled()).toBe(5);
      });
    });
  },
);
