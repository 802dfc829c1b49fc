import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { byIp, byRoute } from '@sluice/old-http';
import type { Limit } from './adapter.ts';
import type { HttpRequest } from './http-client.ts';
import { describe, it } from './scenario.ts';
import type { Server, Suite } from './suite.ts';

const preflight = { Origin: 'https://shop.example', 'Access-Control-Request-Method': 'POST' };

/** Which requests without a handler count: preflights, bare OPTIONS, paths without a route. */
export function methods(suite: Suite): void {
  const limited = (more: Limit = {}): Promise<Server> =>
    suite.serve(
      { name: 'methods', policy: fixedWindow({ limit: 2, window: '1h' }), key: byIp(), ...more },
      { place: 'application-wide', method: 'POST' },
    );

  describe('an application-wide limit', () => {
    it('neither counts nor denies true preflights where they are skipped, and adds no fields to them (B4)', async () => {
      const server = await limited({ preflights: 'skip' });
      const ask = { method: 'OPTIONS', headers: preflight };

      const before = [await server.send(ask), await server.send(ask), await server.send(ask)];
      const statuses = await server.statuses(3);
      const after = await server.send(ask);

      expect(statuses).toEqual([200, 200, 429]);
      for (const { status, headers } of [...before, after]) {
        expect(status).not.toBe(429);
        expect(headers['ratelimit']).toBeUndefined();
        expect(headers['ratelimit-policy']).toBeUndefined();
      }
    });

    it.each<[string, HttpRequest]>([
      ['a bare OPTIONS', { method: 'OPTIONS' }],
      ['an OPTIONS with an Origin alone', { method: 'OPTIONS', headers: { Origin: 'https://shop.example' } }],
      [
        'an OPTIONS with Access-Control-Request-Method alone',
        { method: 'OPTIONS', headers: { 'Access-Control-Request-Method': 'POST' } },
      ],
      [
        'a preflight with a body, which no browser sends',
        { method: 'OPTIONS', headers: { ...preflight, 'Content-Length': '2' }, body: '{}' },
      ],
      [
        'a preflight with a body of unknown length',
        { method: 'OPTIONS', headers: { ...preflight, 'Transfer-Encoding': 'chunked' }, body: '{}' },
      ],
      ['a GET dressed as a preflight', { method: 'GET', headers: preflight }],
      ['a POST dressed as a preflight', { method: 'POST', headers: preflight }],
      ['a method without a handler', { method: 'DELETE' }],
      ['a path that no route matches', { path: '/nowhere' }],
    ])('counts %s (B4)', async (_what, request) => {
      const server = await limited();

      const statuses = await server.statuses(3, request);
      const denied = await server.send();

      expect(statuses.slice(0, 2)).not.toContain(429);
      expect(statuses[2]).toBe(429);
      expect(denied.status).toBe(429);
    });

    it('has one budget for all paths without a route', async () => {
      const server = await suite.serve(
        { name: 'unmatched', policy: fixedWindow({ limit: 2, window: '1h' }), key: byRoute() },
        { place: 'application-wide' },
      );

      const statuses = [];
      for (const path of ['/a', '/b', '/c/d']) statuses.push((await server.send({ path })).status);

      expect(statuses).toEqual([404, 404, 429]);
    });
  });
}
