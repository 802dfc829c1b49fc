import { expect } from '@jest/globals';
import { createLimiter, escalate, fixedWindow, type Decision } from '@sluice/old-core';
import { byHeader } from '@sluice/old-http';
import { fakeClock, type FakeClock } from '../fake-clock.ts';
import type { Limit } from './adapter.ts';
import type { HttpAnswer, HttpRequest } from './http-client.ts';
import { fieldsOf } from './limiter-fields.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import type { Server, Suite } from './suite.ts';

const policy = fixedWindow({ limit: 1, window: '60s' });
const escalation = escalate({ after: 2, block: '5m', decay: '1d' });
const key = byHeader('x-api-key');
const ann: HttpRequest = { headers: { 'X-Api-Key': 'ann' } };
const bob: HttpRequest = { headers: { 'X-Api-Key': 'bob' } };
const SECOND = 1000;

/** A client that continues after denials is blocked, longer each time, and Retry-After shows it. */
export function escalatedLimits(suite: Suite): void {
  describe.each(suite.everywhere)('a limit that escalates, $place, over $kind', ({ stores, place }) => {
    const serve = (clock: FakeClock, limit: Limit = {}): Promise<Server> =>
      suite.serve({ name: 'tries', policy, key, escalate: escalation, ...stores.fresh(clock), ...limit }, { place });
    const times = async (server: Server, count: number, request: HttpRequest): Promise<HttpAnswer[]> => {
      const answers: HttpAnswer[] = [];
      for (let i = 0; i < count; i++) answers.push(await server.send(request));
      return answers;
    };
    const retriesOf = (answers: readonly HttpAnswer[]): unknown[] =>
      answers.map(({ status, headers }) => [status, headers['retry-after']]);

    it('sends a growing Retry-After to a client that keeps trying, and to no other client', async () => {
      const clock = fakeClock();
      const server = await serve(clock);

      const first = await times(server, 5, ann);
      clock.advance(300 * SECOND);
      const second = await times(server, 4, ann);
      clock.advance(600 * SECOND);
      const third = await times(server, 3, ann);

      expect(retriesOf(first)).toEqual([
        [200, undefined],
        [429, '60'],
        [429, '300'],
        [429, '300'],
        [429, '300'],
      ]);
      expect(retriesOf(second)).toEqual([
        [200, undefined],
        [429, '60'],
        [429, '600'],
        [429, '600'],
      ]);
      expect(retriesOf(third)).toEqual([
        [200, undefined],
        [429, '60'],
        [429, '1200'],
      ]);
      expect((await server.send(bob)).status).toBe(200);
    });

    it('ends after the seconds in Retry-After, and not before', async () => {
      const clock = fakeClock();
      const server = await serve(clock);
      const denied = (await times(server, 3, ann)).at(-1);

      clock.advance(Number(denied?.headers['retry-after']) * SECOND - 1);
      const early = await server.send(ann);
      clock.advance(1);
      const allowed = await server.send(ann);

      expect([denied?.status, early.status, allowed.status]).toEqual([429, 429, 200]);
    });

    it('shows the unchanged policy in its fields, with nothing left until the block ends', async () => {
      const server = await serve(fakeClock());

      const [, denied, blocked] = await times(server, 3, ann);

      const quota = '"tries";q=1;w=60';
      expect(denied && fieldsOf(denied)).toEqual({ policy: quota, state: '"tries";r=0;t=60', retryAfter: '60' });
      expect(blocked && fieldsOf(blocked)).toEqual({ policy: quota, state: '"tries";r=0;t=300', retryAfter: '300' });
      expect(blocked?.headers['cache-control']).toBe('no-store');
    });

    it('ends when the application unblocks the key', async () => {
      const own = { name: 'tries', policy, escalate: escalation, ...stores.fresh(fakeClock()) };
      const limiter = createLimiter(own);
      const server = await suite.serve({ limiter, key }, { place });
      const before = await server.statuses(3, ann);
      const stuck = await server.send(ann);

      await limiter.unblock('ann');
      await limiter.reset('ann');

      const after = await times(server, 3, ann);
      expect([...before, stuck.status]).toEqual([200, 429, 429, 429]);
      expect(retriesOf(after)).toEqual([
        [200, undefined],
        [429, '60'],
        [429, '300'],
      ]);
    });

    it('that only reports denies no request, and reports the block to onDecision', async () => {
      const decisions = new Log<Decision>();
      const server = await serve(fakeClock(), { mode: 'report', onDecision: decisions.add });

      expect(await server.statuses(4, ann)).toEqual([200, 200, 200, 200]);
      expect(decisions.all.map(({ outcome }) => outcome)).toEqual(['allowed', 'denied', 'blocked', 'blocked']);
    });
  });
}
