import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { byHeader } from '@sluice/old-http';
import { fakeClock } from '../fake-clock.ts';
import { exchange } from '../raw-http.ts';
import { header, type Limit } from './adapter.ts';
import type { HttpAnswer } from './http-client.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Server, type Suite } from './suite.ts';
import { failingStore } from './watched-store.ts';

const once = fixedWindow({ limit: 1, window: '60s' });

/** The response to a denial: by the limiter, the application, or the framework's error handler. */
export function denials(suite: Suite): void {
  const [memory] = suite.stores;

  describe.each(PLACES)('a denial %s', (place) => {
    const serve = (limit: Limit): Promise<Server> =>
      suite.serve({ name: 'denial', policy: once, ...memory.fresh(fakeClock()), ...limit }, { place });
    const deniedBy = async (server: Server): Promise<HttpAnswer> => {
      await server.send();
      const answer = await server.send();
      expect(server.calls.count).toBe(1);
      return answer;
    };

    it('has one size for every request, and never contains the key (B23)', async () => {
      const server = await serve({ key: byHeader('x-api-key') });
      const keys = ['secret', 'secret'.repeat(500)];
      for (const key of keys) await server.send({ headers: { 'X-Api-Key': key } });

      const answers = [];
      for (const key of keys) {
        answers.push(await server.send({ path: `/items?q=${key}`, headers: { 'X-Api-Key': key } }));
      }

      expect(answers.map(({ status }) => status)).toEqual([429, 429]);
      expect(answers[0]?.body).toBe(answers[1]?.body);
      expect(JSON.stringify(answers)).not.toContain('secret');
    });

    it('keeps the connection open, with the status text Too Many Requests', async () => {
      const server = await serve({});
      const get = 'GET /items HTTP/1.1\r\nHost: test\r\n';

      const text = await exchange(server.port, `${get}\r\n${get}\r\n${get}Connection: close\r\n\r\n`);

      expect(text.match(/HTTP\/1\.1 200 OK\r\n/g)).toHaveLength(1);
      expect(text.match(/HTTP\/1\.1 429 Too Many Requests\r\n/g)).toHaveLength(2);
    });

    it('ends after the seconds in Retry-After', async () => {
      const clock = fakeClock(1_795_262_429_400);
      const server = await serve({ ...memory.fresh(clock) });
      await server.send();
      const denied = await server.send();

      clock.advance(Number(denied.headers['retry-after']) * 1000 - 1);
      const early = await server.send();
      clock.advance(1);
      const allowed = await server.send();

      expect([denied.status, early.status, allowed.status]).toEqual([429, 429, 200]);
    });

    it('passes the request and the decision to onDenied', async () => {
      const told = new Log<readonly unknown[]>();
      const server = await serve({
        onDenied(request, response, { outcome, retryAfterMs }) {
          told.add([header(request, 'host') !== undefined, outcome, retryAfterMs]);
          return suite.adapter.answer(response, { status: 420, body: 'calm' });
        },
      });

      await deniedBy(server);

      expect(told.all).toEqual([[true, 'denied', 60_000]]);
    });

    it('has the fields even when onDenied responds', async () => {
      const server = await serve({
        onDenied: async (_request, response) => {
          await new Promise(setImmediate);
          return suite.adapter.answer(response, { status: 420, body: 'calm' });
        },
      });

      const answer = await deniedBy(server);

      expect([answer.status, answer.body]).toEqual([420, 'calm']);
      expect(answer.headers).toMatchObject({
        'ratelimit-policy': '"denial";q=1;w=60',
        ratelimit: '"denial";r=0;t=60',
        'retry-after': '60',
        'cache-control': 'no-store',
      });
    });

    it('with throw: true reaches the framework’s error handler, with status and fields', async () => {
      const answer = await deniedBy(await serve({ throw: true }));

      expect(answer.status).toBe(429);
      expect(answer.headers).toMatchObject({
        'ratelimit-policy': '"denial";q=1;w=60',
        ratelimit: '"denial";r=0;t=60',
        'retry-after': '60',
        'cache-control': 'no-store',
      });
      expect(answer.body).not.toContain('127.0.0.1');
    });

    it.each<[string, number, () => Limit]>([
      ['a client on the deny list', 403, () => ({ deny: ['127.0.0.1'] })],
      ['a request without a key', 403, () => ({ key: () => undefined })],
      ['every request while the store is away', 503, () => ({ store: failingStore('rejects'), onStoreError: 'deny' })],
    ])('with throw: true of %s reaches the framework’s error handler with %i', async (_whom, status, limit) => {
      const server = await serve({ throw: true, ...limit() });

      const answer = await server.send();

      expect(answer.status).toBe(status);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(answer.headers['ratelimit']).toBeUndefined();
      expect(server.calls.count).toBe(0);
    });
  });
}
