import { describe, expect, it } from '@jest/globals';
import { byAll, byHeader, byIp, byMethod, byRoute, byUser } from '@sluice/old-http';
import { concurrency, createLimiter, fixedWindow, leakyBucket, memoryStore } from '@sluice/old-core';
import { Enforcer, Layer, answer } from '@sluice/old-http/spi';
import {
  TestResponse,
  lines,
  testEnforcer,
  testFramework,
  type TestOptions,
  type TestRequest,
  watched,
} from '@sluice/testkit';

const two = fixedWindow({ limit: 2, window: '1h' });
const four = fixedWindow({ limit: 4, window: '1h' });

function preflight(method = 'POST', request: TestRequest = {}): TestRequest {
  const headers = { origin: 'https://a.example', 'access-control-request-method': method };
  return { method: 'OPTIONS', ...request, headers: { ...headers, ...request.headers } };
}

/** The statuses of requests, one after the other. */
async function statuses(options: Partial<TestOptions>, requests: readonly TestRequest[]): Promise<number[]> {
  const enforce = testEnforcer({ policy: two, ...options } as TestOptions);
  const got: number[] = [];
  for (const request of requests) got.push((await enforce(request)).denial?.status ?? 200);
  return got;
}

const times = (count: number, request: TestRequest): TestRequest[] => Array.from({ length: count }, () => request);

describe('preflights', () => {
  it('have the same budget as requests, beside it', async () => {
    const get = { method: 'GET' };

    const got = await statuses({}, [...times(3, preflight()), ...times(3, get), preflight()]);

    expect(got).toEqual([200, 200, 429, 200, 200, 429, 429]);
  });

  it('get no fields of a limit, and no decision, but a denied one says when to come again', async () => {
    const enforce = testEnforcer({ policy: two });

    const plans = [await enforce(preflight()), await enforce(preflight()), await enforce(preflight())];

    expect(plans.map(({ fields, info }) => [fields, info])).toEqual(plans.map(() => [[], undefined]));
    expect(plans.map(lines)).toEqual([[], [], ['Cache-Control: no-store', 'Retry-After: 3600']]);
  });

  it('are counted like other requests where the option says so', async () => {
    expect(await statuses({ preflights: 'count' }, [preflight(), { method: 'GET' }, preflight()])).toEqual([
      ...[200, 200, 429],
    ]);
  });

  it('are not limited where the option says so', async () => {
    expect(await statuses({ preflights: 'skip' }, times(1000, preflight()))).not.toContain(429);
  });

  it.each([true, null, 'none', 0])('are not what %p says', (preflights) => {
    expect(() => testEnforcer({ policy: two, preflights } as unknown as TestOptions)).toThrow(
      'preflights must be "separate", "count" or "skip"',
    );
  });

  it.each<[string, NonNullable<TestOptions['key']>]>([
    ['nothing besides', byIp()],
    ['route and method', [byIp(), byRoute(), byMethod()]],
    ['route and method without it', [byRoute(), byMethod()]],
  ])(
    'have one budget for each address, whatever they ask for, where the key is made of it and of %s',
    async (_what, key) => {
      const got = await statuses({ key }, [
        preflight('PUT', { route: '/a' }),
        preflight('DELETE', { route: '/b' }),
        preflight('INVENTED', { route: '/c' }),
        preflight('PUT', { route: '/a', address: '192.0.2.2' }),
      ]);

      expect(got).toEqual([200, 200, 429, 200]);
    },
  );

  it('have one budget for all addresses of a prefix, as the key says', async () => {
    const from = (address: string): TestRequest => preflight('PUT', { address });

    const got = await statuses({ key: byIp({ ipv6Prefix: 48 }) }, [
      ...['2001:db8:1:1::1', '2001:db8:1:2::1', '2001:db8:1:3::1', '2001:db8:2:1::1'].map(from),
    ]);

    expect(got).toEqual([200, 200, 429, 200]);
  });

  it('call no function of the user, and no list of users', async () => {
    const called: string[] = [];
    const call =
      <T>(name: string, value: T) =>
      (): T => {
        called.push(name);
        return value;
      };
    const enforce = testEnforcer({
      limits: [
        { name: 'ip', policy: two, cost: call('cost', 5) },
        { name: 'user', policy: two, key: byUser(call('user', 'u')) },
        { name: 'own', policy: two, key: call('key', 'k') },
        { name: 'header', policy: two, key: byHeader('x-key') },
        { name: 'plan', policy: call('policy', fixedWindow({ name: 'free', limit: 1, window: '1h' })) },
      ],
      skip: call('skip', true),
      onDecision: call('onDecision', undefined),
      onDenied: call('onDenied', undefined),
      refund: call('refund', true),
      allow: ['k', 'u'],
      deny: ['192.0.2.1|x'],
    });

    const got = [];
    for (let i = 0; i < 3; i++) {
      const response = new TestResponse();
      const request = preflight();
      const plan = await enforce(request, response);
      await answer(testFramework, plan, request, response);
      response.finish();
      got.push(plan.denial?.status);
    }

    expect(called).toEqual([]);
    expect(got).toEqual([undefined, undefined, 429]);
  });

  it.each<[string, Partial<TestOptions>]>([
    ['a user', { key: byUser() }],
    ['a header and an address', { key: [byIp(), byHeader('x-key')] }],
    ['a function', { key: () => 'one' }],
    ['nothing of its request', { key: byAll() }],
    ['a policy of the user', { policy: () => fixedWindow({ name: 'plan', limit: 1, window: '1h' }) }],
    ['a slot', { policy: concurrency({ limit: 1, ttl: '30s' }) }],
  ])('are 600 a minute for each address where the limit needs %s', async (_what, options) => {
    const got = await statuses(options, [...times(601, preflight()), preflight('POST', { address: '192.0.2.2' })]);

    expect(got.slice(0, 600)).not.toContain(429);
    expect(got.slice(600)).toEqual([429, 200]);
  });

  it('take all units or none', async () => {
    const enforce = testEnforcer({
      limits: [
        { name: 'each', policy: two, key: byIp() },
        { name: 'network', policy: four, key: byIp({ ipv6Prefix: 32 }) },
      ],
    });
    const from = async (address: string, count: number): Promise<unknown[]> => {
      const got = [];
      for (let i = 0; i < count; i++) got.push((await enforce(preflight('GET', { address }))).denial?.status);
      return got;
    };

    const got = [await from('2001:db8:1::1', 4), await from('2001:db8:2::1', 3)];

    expect(got).toEqual([
      [undefined, undefined, 429, 429],
      [undefined, undefined, 429],
    ]);
  });

  it('hold no slot, wait for nothing and are given back nothing', async () => {
    const store = watched(memoryStore());
    const enforce = testEnforcer({
      policy: [
        fixedWindow({ name: 'calls', limit: 3, window: '1h' }),
        leakyBucket({ name: 'paced', limit: 1, window: '1h', maxDelay: '3h' }),
        concurrency({ name: 'slots', limit: 1, ttl: '30s' }),
      ],
      refund: 'on-failure',
      store,
    });
    const got = [];
    for (let i = 0; i < 4; i++) {
      const response = new TestResponse();
      got.push((await enforce(preflight(), response)).denial?.status);
      response.finish(404);
    }

    expect(got).toEqual([undefined, undefined, undefined, 429]);
    expect(store.calls.flat().map((call) => (call as { op?: string }).op ?? call)).not.toContain('release');
  });

  it('share the budget of a limiter that several places use', async () => {
    const limiter = createLimiter({ policy: two });
    const [first, second] = [testEnforcer({ limiter }), testEnforcer({ limiter })];

    const got = [await first(preflight()), await second(preflight()), await first(preflight())];

    expect(got.map(({ denial }) => denial?.status)).toEqual([undefined, undefined, 429]);
  });

  it('cannot be counted by a key that a client sends', async () => {
    const limiter = createLimiter({ policy: two });
    const enforce = testEnforcer({ limiter });

    for (const key of ['#preflight', '#preflight:192.0.2.1']) await limiter.consume(key, 2);
    const { denial } = await enforce(preflight());

    expect(denial).toBeUndefined();
  });

  it('of an allowed address are not limited', async () => {
    expect(await statuses({ allow: ['192.0.2.0/24'] }, times(3, preflight()))).toEqual([200, 200, 200]);
  });

  it('are not denied in report mode', async () => {
    expect(await statuses({ mode: 'report' }, times(5, preflight()))).not.toContain(429);
  });

  it('are decided over all layers of a request together, each of which sees them once', async () => {
    const store = memoryStore();
    const layer = (name: string, policy = two): Layer<TestRequest, TestResponse> =>
      new Layer<TestRequest, TestResponse>({ name, policy, store }, testFramework);
    const [app, route] = [layer('app', four), layer('route')];
    const [outer, both, outerAlone] = [[app], [app, route], [app]].map((layers) => new Enforcer(layers, testFramework));
    const send = async (...enforcers: (typeof outer)[]): Promise<(number | undefined)[]> => {
      const request = preflight();
      const got = [];
      for (const enforcer of enforcers) {
        got.push((await enforcer?.enforce(request, new TestResponse()))?.denial?.status);
      }
      return got;
    };

    const got = [await send(outer, both), await send(both), await send(both), await send(outerAlone)];

    expect(got).toEqual([[undefined, undefined], [undefined], [429], [undefined]]);
    expect(await send(outer)).toEqual([undefined]);
    expect(await send(outer)).toEqual([429]);
  });
});
