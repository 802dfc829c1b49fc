import { expect } from '@jest/globals';
import { fixedWindow, slidingWindow } from '@sluice/old-core';
import { fakeClock } from '../fake-clock.ts';
import { send } from './http-client.ts';
import { fieldsOf } from './limiter-fields.ts';
import { describe, it } from './scenario.ts';
import type { Suite } from './suite.ts';

/** A limit of the application and one of the route, on one request (V12). */
export function stackedLimits(suite: Suite): void {
  describe.each(suite.stores)('the fields of an application’s limit and a route’s, over $kind', (stores) => {
    it('are two members each, the outer one first (V12)', async () => {
      const exactly = stores.fresh(fakeClock());
      const { port } = await suite.start({
        limits: [{ name: 'global', policy: fixedWindow({ limit: 1000, window: '1h' }), cost: 12, ...exactly }],
        routes: [
          {
            method: 'GET',
            path: '/items',
            limit: { name: 'login', policy: fixedWindow({ limit: 5, window: '300s' }), ...exactly },
            handle: () => ({ body: 'hello' }),
          },
        ],
      });

      const answer = await send(port);

      expect(fieldsOf(answer)).toEqual({
        policy: '"global";q=1000;w=3600, "login";q=5;w=300',
        state: '"global";r=988;t=3600, "login";r=4;t=300',
        retryAfter: undefined,
      });
    });

    it('name the denying limit in a denial, with its wait alone', async () => {
      const exactly = stores.fresh(fakeClock());
      const { port } = await suite.start({
        limits: [{ name: 'global', policy: slidingWindow({ limit: 1000, window: '1h' }), ...exactly }],
        routes: [
          {
            method: 'GET',
            path: '/items',
            limit: { name: 'login', policy: fixedWindow({ limit: 1, window: '300s' }), ...exactly },
            handle: () => ({ body: 'hello' }),
          },
        ],
      });
      await send(port);

      const denied = await send(port);

      expect(denied.status).toBe(429);
      expect(denied.headers['ratelimit-policy']).toBe('"global";q=1000;w=3600, "login";q=1;w=300');
      expect(denied.headers['ratelimit']).toMatch(/^"global";r=99[89];t=\d+, "login";r=0;t=300$/);
      expect(denied.headers['retry-after']).toBe('300');
      expect(denied.body).toContain('"violated-policies":["login"]');
    });
  });
}
