import { expect } from '@jest/globals';
import { fixedWindow, tokenBucket, type Policy } from '@sluice/old-core';
import { fakeClock } from '../fake-clock.ts';
import { numberIn, type AnyRequest } from './adapter.ts';
import { fieldsOf } from './limiter-fields.ts';
import { describe, it } from './scenario.ts';
import type { Suite } from './suite.ts';

/** 2026-11-21T12:00:00Z. */
const NOON_MS = 1_795_262_400_000;
const QUOTA = 'https://iana.org/assignments/http-problem-types#quota-exceeded';

const costOf = (request: AnyRequest): number => numberIn(request, 'x-cost', 1);
const cost = (units: number): { headers: Record<string, string> } => ({ headers: { 'X-Cost': String(units) } });

/** The fields and bodies of answers, byte for byte. */
export function headerVectors(suite: Suite): void {
  describe.each(suite.everywhere)('the fields of a limit $place, over $kind', ({ stores, place }) => {
    it('of a first request state what is left, and until when (V1)', async () => {
      const server = await suite.serve(
        {
          name: 'default',
          policy: fixedWindow({ limit: 100, window: '60s' }),
          ...stores.fresh(fakeClock(NOON_MS + 250)),
        },
        { place, handle: () => ({ headers: { 'Cache-Control': 'public, max-age=60' }, body: 'hello' }) },
      );

      const answer = await server.send();

      expect(answer.status).toBe(200);
      expect(answer.body).toBe('hello');
      expect(answer.headers['cache-control']).toBe('public, max-age=60');
      expect(fieldsOf(answer)).toEqual({
        policy: '"default";q=100;w=60',
        state: '"default";r=99;t=60',
        retryAfter: undefined,
      });
    });

    it('of the last unit come with a normal response, and those of a denial with problem details (V2, V3)', async () => {
      const clock = fakeClock(NOON_MS + 29_400);
      const server = await suite.serve(
        {
          name: 'default',
          policy: fixedWindow({ limit: 100, window: '60s', align: 'clock' }),
          cost: costOf,
          ...stores.fresh(clock),
        },
        { place },
      );
      await server.send(cost(99));

      const last = await server.send();
      const denied = await server.send();
      clock.atMs = NOON_MS + 59_999;
      const late = await server.send();

      expect(last.status).toBe(200);
      expect(fieldsOf(last)).toEqual({
        policy: '"default";q=100;w=60',
        state: '"default";r=0;t=31',
        retryAfter: undefined,
      });
      expect([denied.status, denied.statusText]).toEqual([429, 'Too Many Requests']);
      expect(fieldsOf(denied)).toEqual({
        policy: '"default";q=100;w=60',
        state: '"default";r=0;t=31',
        retryAfter: '31',
      });
      expect(denied.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
      });
      expect(denied.body).toBe(
        `{"type":"${QUOTA}","title":"Quota Exceeded","status":429,"detail":"The limit default is used up. Try again in 31 seconds.","violated-policies":["default"]}`,
      );
      expect(fieldsOf(late)).toMatchObject({ state: '"default";r=0;t=1', retryAfter: '1' });
      expect(server.calls.count).toBe(2);
    });

    it('of two policies are listed together, and a denial names the violated one (V4, V5)', async () => {
      const clock = fakeClock(NOON_MS - 2000);
      const server = await suite.serve(
        {
          name: 'both',
          limits: [
            {
              name: 'burst',
              policy: fixedWindow({ limit: 10, window: '1s' }),
              cost: (request) => numberIn(request, 'x-burst', 1),
            },
            { name: 'daily', policy: fixedWindow({ limit: 1000, window: '1d', align: 'clock' }), cost: costOf },
          ],
          ...stores.fresh(clock),
        },
        { place },
      );
      await server.send();
      clock.atMs = NOON_MS;

      const allowed = await server.send({ headers: { 'X-Burst': '6', 'X-Cost': '6' } });
      clock.advance(2000);
      await server.send(cost(993));
      const denied = await server.send();

      const policy = '"burst";q=10;w=1, "daily";q=1000;w=86400';
      expect(fieldsOf(allowed)).toEqual({
        policy,
        state: '"burst";r=4;t=1, "daily";r=993;t=43200',
        retryAfter: undefined,
      });
      expect(denied.status).toBe(429);
      expect(fieldsOf(denied)).toEqual({
        policy,
        state: '"burst";r=9;t=1, "daily";r=0;t=43198',
        retryAfter: '43198',
      });
      expect(denied.body).toBe(
        `{"type":"${QUOTA}","title":"Quota Exceeded","status":429,"detail":"The limit daily is used up. Try again in 12 hours.","violated-policies":["daily"]}`,
      );
    });

    it('of a bucket state when the next unit comes (V6)', async () => {
      const clock = fakeClock(NOON_MS);
      const server = await suite.serve(
        {
          name: 'api',
          policy: tokenBucket({ capacity: 10, refill: 10, every: '60s' }),
          cost: costOf,
          ...stores.fresh(clock),
        },
        { place },
      );

      const first = await server.send();
      await server.send(cost(8));
      const tenth = await server.send();
      const denied = await server.send();
      clock.advance(250);
      const again = await server.send();
      clock.advance(5750);
      const allowed = await server.send();

      const policy = '"api";q=10;w=60';
      expect(fieldsOf(first)).toEqual({ policy, state: '"api";r=9;t=6', retryAfter: undefined });
      expect(fieldsOf(tenth)).toEqual({ policy, state: '"api";r=0;t=6', retryAfter: undefined });
      expect([denied.status, again.status, allowed.status]).toEqual([429, 429, 200]);
      expect(fieldsOf(denied)).toEqual({ policy, state: '"api";r=0;t=6', retryAfter: '6' });
      expect(fieldsOf(again)).toEqual({ policy, state: '"api";r=0;t=6', retryAfter: '6' });
      expect(fieldsOf(allowed)).toEqual({ policy, state: '"api";r=0;t=6', retryAfter: undefined });
    });

    it('of a denied HEAD equal those of GET, without a body (V13)', async () => {
      const server = await suite.serve(
        {
          name: 'default',
          policy: fixedWindow({ limit: 1, window: '60s' }),
          ...stores.fresh(fakeClock(NOON_MS)),
        },
        { place },
      );
      await server.send();

      const denied = await server.send({ method: 'HEAD' });

      expect(denied.status).toBe(429);
      expect(denied.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
      });
      expect(fieldsOf(denied)).toEqual({
        policy: '"default";q=1;w=60',
        state: '"default";r=0;t=60',
        retryAfter: '60',
      });
      expect(denied.body).toBe('');
    });

    it.each([
      [500, 1],
      [1500, 2],
    ])('of a window of %i ms state %i s (V16)', async (window, seconds) => {
      const server = await suite.serve(
        { name: 'fast', policy: fixedWindow({ limit: 5, window }), ...stores.fresh(fakeClock(NOON_MS)) },
        { place },
      );

      const answer = await server.send();

      expect(fieldsOf(answer).policy).toBe(`"fast";q=5;w=${String(seconds)}`);
    });

    it('never go below zero when the limit is lowered below the used units (V17)', async () => {
      const plans = [200, 100].map((limit) => fixedWindow({ name: 'plan', limit, window: '60s' }));
      const server = await suite.serve(
        {
          policy: () => plans.shift() as Policy,
          cost: costOf,
          ...stores.fresh(fakeClock(NOON_MS)),
        },
        { place },
      );
      await server.send(cost(120));

      const denied = await server.send();

      expect(denied.status).toBe(429);
      expect(fieldsOf(denied)).toEqual({
        policy: '"plan";q=100;w=60',
        state: '"plan";r=0;t=60',
        retryAfter: '60',
      });
    });
  });
}
