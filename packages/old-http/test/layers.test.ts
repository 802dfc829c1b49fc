import { describe, expect, it } from '@jest/globals';
import { byAll, byIp, byUser } from '@sluice/old-http';
import { createLimiter, fixedWindow, memoryStore, type Limiter, type Store } from '@sluice/old-core';
import { Enforcer, Layer } from '@sluice/old-http/spi';
import {
  onNodes,
  testFramework,
  TestResponse,
  type TestOptions,
  type TestRequest,
  watched,
  expectWarnings,
} from '@sluice/testkit';

expectWarnings('SLUICE_KEY_MISSING');

type PlainLayer = Layer<TestRequest, TestResponse>;

const windowOf = (limit: number): { policy: ReturnType<typeof fixedWindow> } => ({
  policy: fixedWindow({ limit, window: '1h' }),
});
const layerOf = (name: string, options: Partial<TestOptions>): PlainLayer =>
  new Layer<TestRequest, TestResponse>(
    { name, key: byAll(), ...windowOf(9), ...options } as TestOptions,
    testFramework,
  );
const over = (...layers: readonly PlainLayer[]): Enforcer<TestRequest, TestResponse> =>
  new Enforcer(layers, testFramework);
const left = async (layer: PlainLayer): Promise<number> =>
  ((await (layer.limiter as unknown as Limiter).peek('*')) as { remaining: number }).remaining;

/** Sends a request through, as an adapter does. */
async function send(enforcer: Enforcer<TestRequest, TestResponse>, request: TestRequest = {}): Promise<TestResponse> {
  const response = new TestResponse();
  await enforcer.limit(request, response);
  return response;
}

describe('several layers over one request', () => {
  it('take everything, or nothing', async () => {
    const store = memoryStore();
    const layers = [
      layerOf('app', { store }),
      layerOf('scope', { store, ...windowOf(2) }),
      layerOf('route', { store, cost: 3 }),
    ];
    const enforcer = over(...layers);

    const statuses = [await send(enforcer), await send(enforcer), await send(enforcer)].map(
      ({ statusCode }) => statusCode,
    );

    expect(statuses).toEqual([200, 200, 429]);
    expect(await Promise.all(layers.map(left))).toEqual([7, 0, 3]);
  });

  it('ask the store once for each request', async () => {
    const store = watched(memoryStore());
    const enforcer = over(
      layerOf('app', { store, key: byIp() }),
      layerOf('scope', { store, key: byUser() }),
      layerOf('route', { store }),
    );

    await send(enforcer, { user: 'ann' });

    expect(store.calls).toHaveLength(1);
    expect(store.calls[0]).toMatchObject([
      { op: 'consume', parts: [{ subject: '192.0.2.1' }, { subject: 'ann' }, { subject: '*' }] },
    ]);
  });

  it('are told of in one list each, and name all that denied', async () => {
    const store = memoryStore();
    const enforcer = over(layerOf('app', { store, ...windowOf(1) }), layerOf('route', { store, ...windowOf(1) }));
    await send(enforcer);

    const { headers, body } = await send(enforcer);

    expect(headers.get('ratelimit-policy')).toBe('"app";q=1;w=3600, "route";q=1;w=3600');
    expect(JSON.parse(body ?? '')).toMatchObject({ 'violated-policies': ['app', 'route'] });
  });

  it('answer as the innermost one says, whichever denies', async () => {
    const store = memoryStore();
    const told: unknown[] = [];
    const enforcer = over(
      layerOf('app', { store, ...windowOf(1), headers: false, throw: true, onDecision: () => told.push('app') }),
      layerOf('route', {
        store,
        headers: { legacy: 'delta' },
        onDenied: (_request, response, { policy }) => (response.body = `too many for ${policy}`),
        onDecision: (_decision, { key }) => told.push(key),
      }),
    );
    await send(enforcer);

    const denied = await send(enforcer);

    expect(denied.body).toBe('too many for app');
    expect([...denied.headers.keys()]).toEqual([
      'x-ratelimit-limit',
      'x-ratelimit-remaining',
      'x-ratelimit-reset',
      'cache-control',
      'retry-after',
    ]);
    expect(told).toEqual([
      { app: '*', route: '*' },
      { app: '*', route: '*' },
    ]);
  });

  it('answer as the innermost of those that limit the request', async () => {
    const store = memoryStore();
    const enforcer = over(
      layerOf('app', { store, ...windowOf(1), onDenied: (_request, response) => (response.body = 'by app') }),
      layerOf('route', { store, skip: () => true, onDenied: (_request, response) => (response.body = 'by route') }),
    );
    await send(enforcer);

    expect((await send(enforcer)).body).toBe('by app');
  });

  it('record the keys of all limits by their names, and a single one as it is', async () => {
    const store = memoryStore();
    const app = layerOf('app', { store, key: byIp() });
    const limits = [
      { name: 'per-user', ...windowOf(9), key: byUser() },
      { name: 'all', ...windowOf(9), key: byAll() },
    ];
    const route = new Layer<TestRequest, TestResponse>({ name: 'route', limits, store }, testFramework);
    const skipped = layerOf('skipped', { store, skip: () => true });

    const both = await over(app, route).enforce({ user: 'ann' }, new TestResponse());
    const one = await over(app, skipped).enforce({}, new TestResponse());

    expect(both.info?.key).toEqual({ app: '192.0.2.1', 'per-user': 'ann', all: '*' });
    expect(one.info?.key).toBe('192.0.2.1');
  });

  it('are skipped and allowed each for itself', async () => {
    const store = memoryStore();
    const layers = [
      layerOf('app', { store }),
      layerOf('skipped', { store, skip: ({ user }) => user === 'ann' }),
      layerOf('allowed', { store, allow: ['192.0.2.0/24'] }),
    ];

    await send(over(...layers), { user: 'ann' });

    expect(await Promise.all(layers.map(left))).toEqual([8, 9, 9]);
  });

  it.each([
    ['the client is denied by one', { deny: ['192.0.2.1'] }],
    ['one finds no key', { key: byUser<TestRequest>() }],
  ])('take nothing when %s', async (_why, options) => {
    const store = watched(memoryStore());

    const response = await send(
      over(layerOf('app', { store }), layerOf('route', { store, ...options }), layerOf('end', { store })),
    );

    expect(response.statusCode).toBe(403);
    expect(response.headers.has('ratelimit')).toBe(false);
    expect(store.calls).toEqual([]);
  });

  it('see a request once each, though it comes through several enforcers', async () => {
    const store = memoryStore();
    const [app, route, end] = [layerOf('app', { store }), layerOf('route', { store }), layerOf('end', { store })];
    const request = {};

    await send(over(app), request);
    await send(over(app, route), request);
    await send(over(app, route, end), request);
    await send(over(app, route), request);

    expect(await Promise.all([app, route, end].map(left))).toEqual([8, 8, 8]);
  });

  it('do nothing to a preflight that the innermost skips', async () => {
    const store = watched(memoryStore());
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
    const route = layerOf('route', { store, preflights: 'skip' });

    await send(over(layerOf('app', { store }), route), { method: 'OPTIONS', headers });

    expect(store.calls).toEqual([]);
  });
});

describe('a layer that reports, beside others', () => {
  const tight = windowOf(1);

  it('denies no request, takes its own units alone, and sends no fields', async () => {
    const store = memoryStore();
    const layers = [
      layerOf('app', { store }),
      layerOf('trial', { store, ...tight, mode: 'report' }),
      layerOf('route', { store, ...windowOf(3) }),
    ];
    const enforcer = over(...layers);

    const responses = [await send(enforcer), await send(enforcer), await send(enforcer), await send(enforcer)];

    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 200, 200, 429]);
    expect(responses[1]?.headers.get('ratelimit')).not.toContain('trial');
    expect(await Promise.all(layers.map(left))).toEqual([6, 0, 0]);
  });

  it('hears of its own decision, and the request carries that of the others', async () => {
    const store = memoryStore();
    const told: string[] = [];
    const trial = layerOf('trial', {
      store,
      cost: 10,
      mode: 'report',
      onDecision: ({ outcome, policy }, { key }) => told.push(`${policy} ${outcome} ${key as string}`),
    });

    const { info } = await over(layerOf('app', { store }), trial).enforce({}, new TestResponse());

    expect(told).toEqual(['trial denied *']);
    expect(info).toMatchObject({ key: '*', decision: { policy: 'app', allowed: true } });
  });

  it('leaves its decision on the request where it is alone in limiting it', async () => {
    const store = memoryStore();
    const enforcer = over(
      layerOf('app', { store, skip: () => true }),
      layerOf('trial', { store, cost: 10, mode: 'report' }),
    );

    const { info, denial, fields } = await enforcer.enforce({}, new TestResponse());

    expect(info).toMatchObject({ key: '*', decision: { policy: 'trial', allowed: false } });
    expect([denial, fields]).toEqual([undefined, []]);
  });

  it('is told that others deny by nothing: it counts what it would have allowed', async () => {
    const store = memoryStore();
    const layers = [layerOf('app', { store, ...tight }), layerOf('trial', { store, mode: 'report' })];
    const enforcer = over(...layers);

    await send(enforcer);
    await send(enforcer);

    expect(await Promise.all(layers.map(left))).toEqual([0, 7]);
  });

  it('may have its own store, the name of another, and a cluster', async () => {
    const app = layerOf('app', { store: memoryStore() });
    const trial = layerOf('APP', {
      store: onNodes({ ...watched(memoryStore()), shardOf: (subject: string) => subject }),
      mode: 'report',
    });

    expect((await send(over(app, trial))).statusCode).toBe(200);
  });

  it('makes no request fail while its store is away', async () => {
    const away: Store = {
      source: 'redis',
      perform: () => {
        throw new Error('away');
      },
    };
    const trial = layerOf('trial', { store: away, onStoreError: 'deny', mode: 'report' });

    const response = await send(over(layerOf('app', { store: memoryStore() }), trial));

    expect(response.statusCode).toBe(200);
    expect(response.headers.get('ratelimit')).toContain('"app";r=8');
  });
});

describe('layers that cannot be decided together', () => {
  const store = memoryStore();
  const cluster: Store = onNodes({ ...watched(memoryStore()), shardOf: (subject: string) => subject });
  const limiter = createLimiter({ name: 'handed-in', ...windowOf(9), store });

  it.each<[string, PlainLayer[], string, RegExp]>([
    [
      'two of one name',
      [layerOf('api', { store }), layerOf('api', { store })],
      'name',
      /unique .* got "api" and "api"/,
    ],
    [
      'names that differ in case alone',
      [layerOf('api', { store }), layerOf('Api', { store })],
      'name',
      /got "api" and "Api"/,
    ],
    [
      'the same limiter twice',
      [0, 1].map(() => new Layer<TestRequest, TestResponse>({ limiter }, testFramework)),
      'name',
      /got "handed-in" and "handed-in"/,
    ],
    [
      'a policy that has the name of another layer',
      [
        layerOf('api', { store }),
        layerOf('route', { store, policy: fixedWindow({ name: 'api', limit: 1, window: '1h' }) }),
      ],
      'name',
      /got "api" and "api"/,
    ],
    [
      'several stores',
      [layerOf('app', { store }), layerOf('route', { store: memoryStore() })],
      'store',
      /need one store, got several in "app" and "route"; give the inner one no store of its own, or write override: true there/,
    ],
  ])('are denied: %s', (_what, layers, field, message) => {
    expect(() => over(...layers)).toThrow(
      expect.objectContaining({ name: 'PolicyError', field, message: expect.stringMatching(message) as unknown }),
    );
  });

  it('are not denied where each stands alone', async () => {
    const enforcer = over(layerOf('app', { store: cluster }), layerOf('trial', { store: cluster, mode: 'report' }));

    expect((await send(enforcer)).statusCode).toBe(200);
  });
});
