import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { byAll, byHeader, byIp, byMethod, byRoute, byUser } from '@sluice/http';
import { concurrency, createLimiter, fixedWindow, leakyBucket, memoryStore, silenceWarnings } from '@sluice/core';
import { Enforcer, Layer } from '@sluice/http/spi';
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

beforeEach(() => {
  silenceWarnings('SLUICE_REPORT_FAILED');
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});

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

  it('have a budget for each address, route and announced method, as the key says', async () => {
    const key = [byIp<TestRequest>(), byRoute<TestRequest>(), byMethod<TestRequest>()];
    const of = (method: string, route: string, address: string) => times(3, preflight(method, { route, address }));

    const got = await statuses({ key }, [
      ...of('PUT', '/a', '192.0.2.1'),
      ...of('DELETE', '/a', '192.0.2.1'),
      ...of('PUT', '/b', '192.0.2.1'),
      ...of('PUT', '/a', '192.0.2.2'),
    ]);

    expect(got).toEqual([1, 2, 3, 4].flatMap(() => [200, 200, 429]));
  });

  it('find the route of the method that they announce', async () => {
    const asked: unknown[] = [];
    const layer = new Layer<TestRequest, TestResponse>(
      { policy: two, key: byRoute() },
      {
        ...testFramework,
        route: (_request, method) => {
          asked.push(method);
          return '/a';
        },
      },
    );

    await new Enforcer([layer], testFramework).enforce(preflight('DELETE'), new TestResponse());

    expect(asked).toEqual(['DELETE']);
  });

  it('make no budgets by inventing methods', async () => {
    const methods = ['A', 'B', 'get', '__proto__', 'constructor'];

    const got = await statuses(
      { key: [byIp(), byMethod()] },
      methods.map((method) => preflight(method)),
    );

    expect(got).toEqual([200, 200, 429, 429, 429]);
  });

  it('call no function about keys, costs and policies, and no list of users', async () => {
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
      allow: ['k', 'u'],
      deny: ['192.0.2.1|x'],
    });

    const got = [await enforce(preflight()), await enforce(preflight()), await enforce(preflight())];

    expect(called).toEqual([]);
    expect(got.map(({ denial }) => denial?.status)).toEqual([undefined, undefined, 429]);
  });

  it.each<[string, Partial<TestOptions>]>([
    ['a user', { key: byUser() }],
    ['a header and an address', { key: [byIp(), byHeader('x-key')] }],
    ['a function', { key: () => 'one' }],
    ['a policy of the user', { policy: () => fixedWindow({ name: 'plan', limit: 1, window: '1h' }) }],
    ['a slot', { policy: concurrency({ limit: 1, ttl: '30s' }), key: byAll() }],
  ])('are 600 a minute for each address where the limit needs %s', async (_what, options) => {
    const got = await statuses(options, [...times(601, preflight()), preflight('POST', { address: '192.0.2.2' })]);

    expect(got.slice(0, 600)).not.toContain(429);
    expect(got.slice(600)).toEqual([429, 200]);
  });

  it('take all units or none', async () => {
    const enforce = testEnforcer({
      limits: [
        { name: 'each', policy: two, key: byIp() },
        { name: 'all', policy: four, key: byAll() },
      ],
    });
    const from = async (address: string, count: number): Promise<unknown[]> => {
      const got = [];
      for (let i = 0; i < count; i++) got.push((await enforce(preflight('GET', { address }))).denial?.status);
      return got;
    };

    const got = [await from('192.0.2.1', 4), await from('192.0.2.2', 3)];

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

  it('of an allowed address, or skipped, are not limited', async () => {
    expect(await statuses({ allow: ['192.0.2.0/24'] }, times(3, preflight()))).toEqual([200, 200, 200]);
    expect(await statuses({ skip: () => true }, times(3, preflight()))).toEqual([200, 200, 200]);
  });

  it('are limited, and do not fail, where skip or onDecision expects a user', async () => {
    const expectsUser = ({ user }: TestRequest): boolean => (user as string).length > 100;

    const got = await statuses(
      { skip: expectsUser, onDecision: (_decision, { request }) => expectsUser(request) },
      times(3, preflight()),
    );

    expect(got).toEqual([200, 200, 429]);
  });

  it('are told of to onDecision, under keys that no client can send', async () => {
    const keys: unknown[] = [];
    const onDecision: TestOptions['onDecision'] = ({ outcome }, { key }) => keys.push([outcome, key]);

    await statuses({ onDecision }, times(3, preflight()));

    expect(keys).toEqual(['allowed', 'allowed', 'denied'].map((outcome) => [outcome, '#preflight:192.0.2.1']));
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
