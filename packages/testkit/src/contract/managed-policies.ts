import { expect } from '@jest/globals';
import { createLimiter, fixedWindow, redisStore, type Decision, type Policy } from '@sluice/old-core';
import { createPolicies, managed, type Policies, type PolicySource } from '@sluice/old-managed';
import { byAll, byHeader, byIp } from '@sluice/old-http';
import { until } from '../until.ts';
import { header, type AnyRequest, type Limit } from './adapter.ts';
import type { HttpAnswer, HttpRequest } from './http-client.ts';
import { fieldsOf, NO_FIELDS } from './limiter-fields.ts';
import { Log } from './log.ts';
import { memorySource } from './memory-source.ts';
import { describe, it } from './scenario.ts';
import type { Server, Suite } from './suite.ts';

const app = 'checkout';
const apps = [app];
const perHour = (limit: number): Policy => fixedWindow({ limit, window: '1h' });
const planOf = (request: AnyRequest) => managed(String(header(request, 'x-plan')));
const onPlan = (plan: string): HttpRequest => ({ headers: { 'X-Plan': plan } });

/** Managed policies, and their source for the applications that open them. */
function shared(): [PolicySource, Policies] {
  const source = memorySource();
  return [source, createPolicies(source)];
}

/** The first answer with this status. */
function answered(server: Server, status: number, request?: HttpRequest): Promise<HttpAnswer> {
  return until(`the answer is ${String(status)}`, async () => {
    const answer = await server.send(request);
    return answer.status === status && answer;
  });
}

/** Limits that are stored under a name, and are put, changed and removed while the server runs. */
export function managedPolicies(suite: Suite): void {
  describe.each(suite.everywhere)('a managed policy $place, over $kind', ({ stores, place }) => {
    const serve = (source: PolicySource, limit: Limit = {}): Promise<Server> => {
      const policies = createPolicies(source);
      const options = { name: 'shop', policy: managed('orders'), app, policies, ...stores.fresh(), ...limit };
      return suite.serve(options, { place });
    };

    it('that does not exist denies with 403 and problem details, without fields, and consumes nothing', async () => {
      const [source, policies] = shared();
      const server = await serve(source);

      const denied = [await server.send(), await server.send()];
      await policies.put('orders', perHour(2), { apps });
      const allowed = await answered(server, 200);

      expect(denied.map(({ status }) => status)).toEqual([403, 403]);
      expect(denied.map(fieldsOf)).toEqual([NO_FIELDS, NO_FIELDS]);
      expect(denied[0]?.headers).toMatchObject({
        'content-type': 'application/problem+json',
        'cache-control': 'no-store',
      });
      expect(denied[0]?.body).toBe('{"type":"about:blank","title":"Forbidden","status":403}');
      expect(fieldsOf(allowed).state).toMatch(/^"orders";r=1;t=3(600|59\d)$/);
      expect(server.calls.count).toBe(1);
    });

    it('that does not exist lets requests pass with onUnconfigured: "allow", without fields', async () => {
      const server = await serve(memorySource(), { onUnconfigured: 'allow' });

      const answers = [await server.send(), await server.send()];

      expect(answers.map(({ status }) => status)).toEqual([200, 200]);
      expect(answers.map(fieldsOf)).toEqual([NO_FIELDS, NO_FIELDS]);
      expect(server.calls.all[0]?.rateLimit?.decision.outcome).toBe('unconfigured');
    });

    it('is only for the applications on its list, by their exact names', async () => {
      const [source, policies] = shared();
      await policies.put('orders', perHour(5), { apps: ['checkout-2', 'check'] });
      const server = await serve(source);

      const before = await server.statuses(1);
      await policies.put('orders', perHour(5), { apps: ['checkout-2', 'checkout'] });

      expect(before).toEqual([403]);
      expect((await answered(server, 200)).headers['ratelimit-policy']).toBe('"orders";q=5;w=3600');
    });

    it('takes effect when it is put, changed and removed, without a restart; used units stay used', async () => {
      const [source, policies] = shared();
      const server = await serve(source);
      await server.statuses(1);

      await policies.put('orders', perHour(2), { apps });
      const first = await answered(server, 200);
      const rest = await server.statuses(2);
      await policies.put('orders', perHour(10), { apps });
      const raised = await answered(server, 200);
      await policies.put('orders', perHour(3), { apps });
      const lowered = await answered(server, 429);
      await policies.remove('orders');
      const removed = await answered(server, 403);

      expect(fieldsOf(first).policy).toBe('"orders";q=2;w=3600');
      expect(rest).toEqual([200, 429]);
      expect(fieldsOf(raised).policy).toBe('"orders";q=10;w=3600');
      expect(fieldsOf(raised).state).toMatch(/^"orders";r=7;/);
      expect(fieldsOf(lowered).policy).toBe('"orders";q=3;w=3600');
      expect(lowered.body).toContain('"violated-policies":["orders"]');
      expect(fieldsOf(removed)).toEqual(NO_FIELDS);
    });

    it('that does not exist reaches the framework’s error handler with throw: true', async () => {
      const server = await serve(memorySource(), { throw: true });

      const answer = await server.send();

      expect(answer.status).toBe(403);
      expect(answer.headers['cache-control']).toBe('no-store');
      expect(fieldsOf(answer)).toEqual(NO_FIELDS);
      expect(server.calls.count).toBe(0);
    });

    it('that does not exist denies no request with mode: "report", and is reported', async () => {
      const decisions = new Log<Decision>();
      const server = await serve(memorySource(), {
        mode: 'report',
        onDecision: decisions.add,
      });

      const answer = await server.send();

      const told = decisions.all.map(({ outcome }) => outcome);
      expect([answer.status, fieldsOf(answer), told]).toEqual([200, NO_FIELDS, ['unconfigured']]);
    });

    it('may be the result of a policy function', async () => {
      const [source, policies] = shared();
      await policies.put('free', perHour(1), { apps });
      await policies.put('paid', perHour(2), { apps });
      const server = await serve(source, { policy: planOf });

      const free = await server.statuses(2, onPlan('free'));
      const paid = await server.statuses(3, onPlan('paid'));
      const neither = await server.statuses(1, onPlan('forged'));

      expect([free, paid, neither]).toEqual([[200, 429], [200, 200, 429], [403]]);
    });

    it('may be one of several limits: one that does not exist denies, and the others consume nothing', async () => {
      const [source, policies] = shared();
      const limits = [
        { name: 'per-ip', policy: perHour(2), key: byIp() },
        { name: 'all-clients', policy: managed('orders'), key: byAll() },
      ];
      const server = await serve(source, { policy: undefined, limits });

      const before = await server.statuses(3);
      await policies.put('orders', perHour(5), { apps });
      const allowed = await answered(server, 200);
      const after = await server.statuses(2);

      expect(before).toEqual([403, 403, 403]);
      expect(fieldsOf(allowed).policy).toBe('"per-ip";q=2;w=3600, "all-clients";q=5;w=3600');
      expect(fieldsOf(allowed).state).toMatch(/^"per-ip";r=1;t=\d+, "all-clients";r=4;t=\d+$/);
      expect(after).toEqual([200, 429]);
    });

    it('may be one of several limits: with onUnconfigured: "allow" the others apply', async () => {
      const limits = [
        { name: 'all-clients', policy: managed('orders'), key: byAll() },
        { name: 'per-ip', policy: perHour(2), key: byIp() },
      ];
      const server = await serve(memorySource(), {
        policy: undefined,
        limits,
        onUnconfigured: 'allow',
      });

      const first = await server.send();
      const rest = await server.statuses(2);

      expect(fieldsOf(first).policy).toBe('"per-ip";q=2;w=3600');
      expect(rest).toEqual([200, 429]);
    });

    it('refunds units, also beside one that does not exist', async () => {
      const [source, policies] = shared();
      await policies.put('orders', perHour(1), { apps });
      const limits = [
        { name: 'missing', policy: managed('missing'), key: byAll() },
        { name: 'per-ip', policy: managed('orders'), key: byIp() },
      ];
      const server = await serve(source, {
        policy: undefined,
        limits,
        onUnconfigured: 'allow',
        refund: 'on-success',
      });

      const answers = [];
      for (let i = 0; i < 3; i++) answers.push(await answered(server, 200));

      expect(answers.map(({ headers }) => headers['ratelimit-policy'])).toEqual(Array(3).fill('"per-ip";q=1;w=3600'));
    });
  });

  it('a managed policy without app is an error when the application is built', async () => {
    const serve = async (): Promise<Server> =>
      suite.serve({ name: 'shop', policy: managed('orders'), policies: createPolicies(memorySource()) });

    await expect(serve()).rejects.toMatchObject({ code: 'SLUICE_OPTION_INVALID', field: 'app' });
  });

  describe.each(suite.stores)('a managed policy of two services, over $kind', (stores) => {
    it('is one bucket with byAll(), and one per client with other keys', async () => {
      const [source, policies] = shared();
      for (const name of ['shared', 'per-client'] as const) {
        await policies.put(name, perHour(3), { apps: ['checkout', 'search'] });
      }
      const exactly = stores.fresh();
      const [first, second] = await Promise.all(
        ['checkout', 'search'].map((own) =>
          suite.serve({
            name: own,
            app: own,
            policies: createPolicies(source),
            limits: [
              { name: 'all', policy: managed('shared'), key: byAll() },
              { name: 'client', policy: managed('per-client'), key: byHeader('x-client') },
            ],
            ...exactly,
          }),
        ),
      );
      const as = (client: string): HttpRequest => ({ headers: { 'X-Client': client } });

      const answers = [await first?.send(as('ann')), await second?.send(as('bob')), await first?.send(as('bob'))];
      const denied = [await first?.statuses(1), await second?.statuses(1)];

      expect(answers.map((answer) => answer && fieldsOf(answer).state?.replaceAll(/;t=\d+/g, ''))).toEqual([
        '"all";r=2, "client";r=2',
        '"all";r=1, "client";r=2',
        '"all";r=0, "client";r=1',
      ]);
      expect(denied).toEqual([[429], [429]]);
    });
  });

  it('policies are read from the Redis of the store by default', async () => {
    const { admin } = suite.redis;
    const prefix = suite.prefix();
    const policies = createPolicies(admin, { prefix });
    const store = redisStore(admin, { prefix });
    const limiter = createLimiter({ policy: managed('orders'), app, store, timeoutMs: 60_000 });
    const server = await suite.serve({ limiter, key: byHeader('x-client') });
    const ann = { headers: { 'X-Client': 'ann' } };
    const before = await server.statuses(1, ann);
    await policies.put('orders', perHour(1), { apps });

    const allowed = await answered(server, 200, ann);
    const after = await server.statuses(1, ann);
    await limiter.close();

    expect([before, after]).toEqual([[403], [429]]);
    expect(fieldsOf(allowed).policy).toBe('"orders";q=1;w=3600');
  });
}
