import { expect } from '@jest/globals';
import { createLimiter, fixedWindow } from '@sluice/old-core';
import type { HeadersOption } from '@sluice/old-http';
import { fakeClock } from '../fake-clock.ts';
import { header, type AnyRequest, type Limit } from './adapter.ts';
import type { HttpRequest } from './http-client.ts';
import { Log } from './log.ts';
import { describe, it } from './scenario.ts';
import { PLACES, type Suite } from './suite.ts';

const oneAMinute = fixedWindow({ limit: 1, window: '60s' });
const plans = {
  free: fixedWindow({ name: 'free', limit: 1, window: '60s' }),
  paid: fixedWindow({ name: 'paid', limit: 2, window: '60s' }),
  both: [
    fixedWindow({ name: 'free', limit: 1, window: '60s' }),
    fixedWindow({ name: 'hourly', limit: 5, window: '1h' }),
  ],
};
const planOf = (request: AnyRequest) => plans[header(request, 'x-plan') as keyof typeof plans];
const onPlan = (plan: string): HttpRequest => ({ headers: { 'X-Plan': plan } });

/** Options for the policy, the limiter, callbacks and the format of the fields. */
export function options(suite: Suite): void {
  describe.each(suite.everywhere)('a policy that is a function, $place, over $kind', ({ stores, place }) => {
    it.each<[string, Limit['policy']]>([
      ['sync', planOf],
      ['async', async (request) => Promise.resolve(planOf(request))],
    ])('(%s) gives each request the limit of its plan', async (_kind, policy) => {
      const server = await suite.serve({ name: 'plans', policy, ...stores.fresh() }, { place });

      const free = [await server.send(onPlan('free')), await server.send(onPlan('free'))];
      const paid = await server.send(onPlan('paid'));
      const paidLater = await server.statuses(2, onPlan('paid'));
      const both = await server.send(onPlan('both'));
      const bothLater = await server.send(onPlan('both'));

      expect(free.map(({ status }) => status)).toEqual([200, 429]);
      expect(free[0]?.headers['ratelimit-policy']).toBe('"free";q=1;w=60');
      expect(paid.headers['ratelimit-policy']).toBe('"paid";q=2;w=60');
      expect([paid.status, ...paidLater]).toEqual([200, 200, 429]);
      expect(both.status).toBe(200);
      expect(both.headers['ratelimit-policy']).toBe('"free";q=1;w=60, "hourly";q=5;w=3600');
      expect(bothLater.status).toBe(429);
      expect(bothLater.body).toContain('"violated-policies":["free"]');
    });
  });

  describe.each(suite.stores)('an existing limiter, over $kind', (stores) => {
    it('counts together with other middleware and other code that use it', async () => {
      const limiter = createLimiter({
        name: 'handed-in',
        policy: fixedWindow({ limit: 5, window: '1h' }),
        ...stores.fresh(),
      });
      const first = await suite.serve({ limiter }, { path: '/first' });
      const second = await suite.serve({ limiter }, { path: '/second', place: 'application-wide' });

      const statuses = [...(await first.statuses(2)), ...(await second.statuses(2))];
      const direct = await limiter.consume('127.0.0.1');
      const denied = [...(await first.statuses(1)), ...(await second.statuses(1))];
      await limiter.reset('127.0.0.1');
      const again = await first.statuses(1);

      expect(statuses).toEqual([200, 200, 200, 200]);
      expect(direct).toMatchObject({ allowed: true, remaining: 0 });
      expect(denied).toEqual([429, 429]);
      expect(again).toEqual([200]);
    });
  });

  describe.each(PLACES)('a limit %s', (place) => {
    it('of { limit, window } is a sliding window per address', async () => {
      const server = await suite.serve({ name: 'short', limit: 2, window: '1m' }, { place, trustLoopback: true });
      const as = (address: string): HttpRequest => ({ headers: { 'X-Forwarded-For': address } });

      const answers = [await server.send(as('203.0.113.1')), await server.send(as('203.0.113.1'))];
      const statuses = [
        ...(await server.statuses(1, as('203.0.113.1'))),
        ...(await server.statuses(1, as('203.0.113.2'))),
      ];

      expect(answers[1]?.headers['ratelimit-policy']).toBe('"short";q=2;w=60');
      expect(statuses).toEqual([429, 200]);
      expect(server.calls.all[0]?.rateLimit?.decision.policies[0]?.windowMs).toBe(60_000);
    });

    it('lets a skipped request pass without counting it, and calls no other function for it', async () => {
      const functions = new Log<string>();
      const called = <T>(name: string, value: T): T => {
        functions.add(name);
        return value;
      };
      const server = await suite.serve(
        {
          name: 'skip',
          policy: oneAMinute,
          skip: async (request) => Promise.resolve(header(request, 'x-health') === 'yes'),
          key: () => called('key', 'k'),
          cost: () => called('cost', 1),
        },
        { place },
      );

      const free = await server.statuses(3, { headers: { 'X-Health': 'yes' } });
      const calledForFree = [...functions.all];
      const counted = await server.statuses(2);

      expect(free).toEqual([200, 200, 200]);
      expect(calledForFree).toEqual([]);
      expect(server.calls.all[0]?.rateLimit).toBeUndefined();
      expect(counted).toEqual([200, 429]);
    });

    it('passes every decision to onDecision, with the key and the request', async () => {
      const told = new Log<readonly unknown[]>();
      const server = await suite.serve(
        {
          name: 'told',
          policy: oneAMinute,
          onDecision: async ({ outcome, policy, remaining }, { key, request }) => {
            await Promise.resolve();
            told.add([outcome, policy, remaining, key, header(request, 'x-request')]);
          },
        },
        { place },
      );

      await server.send({ headers: { 'X-Request': 'a' } });
      await server.send({ headers: { 'X-Request': 'b' } });

      expect(told.all).toEqual([
        ['allowed', 'told', 0, '127.0.0.1', 'a'],
        ['denied', 'told', 0, '127.0.0.1', 'b'],
      ]);
    });

    it('gives the response to key, cost, policy, skip and onDecision', async () => {
      const functions = new Log<readonly [string, boolean]>();
      const called = <T>(name: string, response: unknown, value: T): T => {
        functions.add([name, typeof response === 'object' && response !== null]);
        return value;
      };
      const policy = fixedWindow({ name: 'responses', limit: 1, window: '60s' });
      const server = await suite.serve(
        {
          name: 'responses',
          skip: (_request, response) => called('skip', response, false),
          key: (_request, response) => called('key', response, 'k'),
          cost: (_request, response) => called('cost', response, 1),
          policy: (_request, response) => called('policy', response, policy),
          onDecision: (_decision, { response }) => {
            called('onDecision', response, undefined);
          },
        },
        { place },
      );

      await server.send();

      expect(functions.all).toEqual(['skip', 'key', 'cost', 'policy', 'onDecision'].map((name) => [name, true]));
    });

    it('answers denials with the statuses of the option status', async () => {
      const server = await suite.serve(
        {
          name: 'status',
          policy: oneAMinute,
          key: (request) => header(request, 'x-key') ?? '',
          deny: ['mallory'],
          status: { denied: 420, deny: 404, missingKey: 401 },
        },
        { place },
      );
      const as = (key: string): HttpRequest => ({ headers: { 'X-Key': key } });

      const answers = [];
      for (const request of [as('ann'), as('ann'), as('mallory'), {}]) answers.push(await server.send(request));

      expect(answers.map(({ status }) => status)).toEqual([200, 420, 404, 401]);
      expect(answers.slice(1).map(({ body }) => (JSON.parse(body) as { status: number }).status)).toEqual([
        ...[420, 404, 401],
      ]);
    });

    it.each<[string, HeadersOption | undefined, Readonly<Record<string, string>>]>([
      ['nothing', undefined, { 'ratelimit-policy': '"fields";q=1;w=60', ratelimit: '"fields";r=0;t=60' }],
      ['"draft-11"', 'draft-11', { 'ratelimit-policy': '"fields";q=1;w=60', ratelimit: '"fields";r=0;t=60' }],
      ['"draft-7"', 'draft-7', { 'ratelimit-policy': '1;w=60', ratelimit: 'limit=1, remaining=0, reset=60' }],
      [
        '"draft-6"',
        'draft-6',
        { 'ratelimit-limit': '1', 'ratelimit-remaining': '0', 'ratelimit-reset': '60', 'ratelimit-policy': '1;w=60' },
      ],
      [
        '{ legacy: "epoch" }',
        { legacy: 'epoch' },
        { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '1795262461' },
      ],
      [
        '{ legacy: "delta" }',
        { legacy: 'delta' },
        { 'x-ratelimit-limit': '1', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': '60' },
      ],
      [
        'a list',
        ['draft-11', { legacy: 'delta' }],
        {
          'ratelimit-policy': '"fields";q=1;w=60',
          ratelimit: '"fields";r=0;t=60',
          'x-ratelimit-limit': '1',
          'x-ratelimit-remaining': '0',
          'x-ratelimit-reset': '60',
        },
      ],
      ['false', false, {}],
    ])('with headers: %s writes exactly these fields, allowed or denied', async (_written, headers, expected) => {
      const [memory] = suite.stores;
      const server = await suite.serve(
        {
          name: 'fields',
          policy: oneAMinute,
          ...(headers === undefined ? {} : { headers }),
          ...memory.fresh(fakeClock(1_795_262_400_250)),
        },
        { place },
      );

      const answers = [await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 429]);
      for (const answer of answers) {
        const written = Object.entries(answer.headers).filter(([name]) => name.includes('ratelimit'));
        expect(Object.fromEntries(written)).toEqual(expected);
      }
      expect(answers[1]?.headers).toMatchObject({ 'retry-after': '60', 'cache-control': 'no-store' });
    });
  });
}
