import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { byIp, byMethod, byRoute, byUser } from '@sluice/old-http';
import { fakeClock } from '../fake-clock.ts';
import type { AnyRequest, Limit } from './adapter.ts';
import type { HttpRequest } from './http-client.ts';
import { NO_FIELDS, fieldsOf } from './limiter-fields.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { Suite } from './suite.ts';

const FLOOD = 50;
const two = fixedWindow({ limit: 2, window: '1h' });

function preflight(path = '/items', method = 'GET', headers: HttpRequest['headers'] = {}): HttpRequest {
  const asks = { Origin: 'https://shop.example', 'Access-Control-Request-Method': method };
  return { method: 'OPTIONS', path, headers: { ...asks, ...headers } };
}

/** The option `preflights`: no free lane, no cost to requests, and no broken CORS. */
export function preflights(suite: Suite): void {
  describe.each(suite.stores)('preflights of an application-wide limit, over $kind', (stores) => {
    const serve = (options: Limit) =>
      suite.serve(
        { name: 'preflights', policy: two, ...stores.fresh(fakeClock()), ...options },
        {
          place: 'application-wide',
          trustLoopback: true,
          more: [{ method: 'GET', path: '/other', handle: () => ({ body: 'other' }) }],
        },
      );

    it('have an equal budget beside that of requests', async () => {
      const server = await serve({});

      const asked = await server.statuses(FLOOD, preflight());
      const got = await server.statuses(3);

      expect(asked.filter((status) => status !== 429)).toHaveLength(2);
      expect(asked.slice(0, 2)).not.toContain(429);
      expect(got).toEqual([200, 200, 429]);
    });

    it('get no fields, allowed or denied, but a denied one says when to come again', async () => {
      const server = await serve({});

      const answers = [];
      for (let i = 0; i < 3; i++) answers.push(fieldsOf(await server.send(preflight())));

      expect(answers.map(({ retryAfter, ...rest }) => ({ ...rest, retryAfter: retryAfter !== undefined }))).toEqual(
        [false, false, true].map((retryAfter) => ({ ...NO_FIELDS, retryAfter })),
      );
    });

    it.each([
      ['address', byIp<AnyRequest>()],
      ['address, route and method', [byIp<AnyRequest>(), byRoute<AnyRequest>(), byMethod<AnyRequest>()]],
    ])('have one budget for each address, whatever they ask for, where the key is %s', async (_what, key) => {
      const server = await serve({ key });
      const asked = [
        preflight('/items', 'GET'),
        preflight('/other', 'PUT'),
        preflight('/nowhere', 'INVENTED'),
        preflight('/items', 'GET', { 'X-Forwarded-For': '203.0.113.1' }),
      ];

      const denied = [];
      for (const request of asked) denied.push((await server.send(request)).status === 429);

      expect(denied).toEqual([false, false, true, false]);
    });

    it('call no function that may expect a user', async () => {
      const functions = new Log<string>();
      const fail = (name: string) => (): never => {
        functions.add(name);
        throw new Error(`${name} expects a user`);
      };
      const server = await serve({
        key: fail('key'),
        cost: fail('cost'),
        policy: fail('policy'),
        skip: fail('skip'),
        onDecision: fail('onDecision'),
      });

      const statuses = await server.statuses(FLOOD, preflight());

      expect(functions.all).toEqual([]);
      expect(statuses.filter((status) => status === 429 || status >= 500)).toEqual([]);
    });

    it('are 600 a minute for each address where the limit is by user', async () => {
      const server = await serve({ key: byUser() });
      const here = preflight();

      const statuses = [];
      // A server's queue holds 511 connections that it has not accepted: 620 at once may be reset.
      for (let round = 0; round < 10; round++) {
        statuses.push(...(await Promise.all(Array.from({ length: 62 }, async () => (await server.send(here)).status))));
      }
      const elsewhere = await server.send(preflight('/items', 'GET', { 'X-Forwarded-For': '203.0.113.1' }));

      expect(statuses.filter((status) => status === 429).length).toBeGreaterThan(0);
      expect(statuses.filter((status) => status !== 429)).toHaveLength(600);
      expect(elsewhere.status).not.toBe(429);
    });

    it('count like other requests where the option says so', async () => {
      const server = await serve({ preflights: 'count' });

      const statuses = [...(await server.statuses(2, preflight())), ...(await server.statuses(1))];

      expect(statuses.map((status) => status === 429)).toEqual([false, false, true]);
    });
  });
}
