import { expect } from '@jest/globals';
import { fixedWindow } from '@sluice/old-core';
import { fakeClock } from '../fake-clock.ts';
import { numberIn, type AnyRequest, type Limit } from './adapter.ts';
import type { HttpRequest } from './http-client.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

const policy = fixedWindow({ limit: 10, window: '60s' });
const costOf = (request: AnyRequest): number => numberIn(request, 'x-cost', 1);
const cost = (units: number): HttpRequest => ({ headers: { 'X-Cost': String(units) } });

/** Requests that cost more than one unit, and requests that try to cost none (B15). */
export function costs(suite: Suite): void {
  describe.each(suite.everywhere)('a cost, $place, over $kind', ({ stores, place }) => {
    it('is consumed by every request', async () => {
      const server = await suite.serve({ name: 'cost', policy, cost: 4, ...stores.fresh(fakeClock()) }, { place });

      const answers = [await server.send(), await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers.map(({ headers }) => headers['ratelimit'])).toEqual([
        '"cost";r=6;t=60',
        '"cost";r=2;t=60',
        '"cost";r=2;t=60',
      ]);
    });

    it.each<[string, Limit['cost']]>([
      ['a function', costOf],
      ['an async function', async (request) => Promise.resolve(costOf(request))],
    ])('may be %s of the request, and a denial consumes nothing', async (_kind, asked) => {
      const server = await suite.serve(
        { name: 'cost', policy, ...(asked === undefined ? {} : { cost: asked }), ...stores.fresh() },
        { place },
      );

      const statuses = [];
      for (const units of [7, 4, 3, 1]) statuses.push((await server.send(cost(units))).status);

      expect(statuses).toEqual([200, 429, 200, 429]);
    });

    it('above the limit is denied without Retry-After, and consumes nothing', async () => {
      const server = await suite.serve({ name: 'cost', policy, cost: costOf, ...stores.fresh(fakeClock()) }, { place });

      const denied = await server.send(cost(11));
      const whole = await server.send(cost(10));

      expect(denied.status).toBe(429);
      expect(denied.headers['retry-after']).toBeUndefined();
      expect(denied.headers['ratelimit']).toBe('"cost";r=10');
      expect(whole.status).toBe(200);
      expect(server.calls.count).toBe(1);
    });

    it('of 0 exempts a request: not counted, no fields', async () => {
      const server = await suite.serve({ name: 'cost', policy, cost: costOf, ...stores.fresh() }, { place });
      await server.send(cost(10));

      const free = await server.send(cost(0));
      const denied = await server.send(cost(1));

      expect(free.status).toBe(200);
      expect(free.headers['ratelimit']).toBeUndefined();
      expect(denied.status).toBe(429);
    });
  });

  describe.each(PLACES)('a cost function %s', (place) => {
    it.each<[unknown]>([[NaN], [-1], [0.5], [Infinity], [2 ** 53], ['5'], [undefined], [null]])(
      'that returns %p is an error, does not let the request pass, and consumes nothing',
      async (bad) => {
        const given = [bad, 10] as number[];
        const server = await suite.serve({ name: 'cost', policy, cost: () => given.shift() as number }, { place });

        const failed = await server.send();
        const whole = await server.send();

        expect(failed.status).toBe(500);
        expect(whole.status).toBe(200);
        expect(server.calls.count).toBe(1);
      },
    );
  });
}
