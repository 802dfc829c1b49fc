import { describe, expect, it, jest } from '@jest/globals';
import { createLimiter, fixedWindow, memoryStore, silenceWarnings, type OnStoreError, type Store } from '@sluice/core';
import { byAll, byUser, RequestLimiter, withLimiter } from '@sluice/core/http';
import {
  place,
  plainFramework,
  PlainResponse,
  remembering,
  respondTo,
  type PlainLimiter,
  type PlainRequest,
} from './plain-framework.ts';

silenceWarnings('SLUICE_STORE_AWAY', 'SLUICE_REPORT_FAILED');

const hourly = (limit: number) => fixedWindow({ limit, window: '1h' });
/** A limiter of several places, the outermost first. */
const over = (...options: readonly object[]): PlainLimiter =>
  new RequestLimiter(
    options.map((own) => place({ key: byAll(), policy: hourly(9), ...own })),
    plainFramework,
  );
const away = (): Store => ({ source: 'redis', perform: async () => Promise.reject(new Error('away')) });

describe('several places over one request', () => {
  it('take everything or nothing, in one call of the store', async () => {
    const store = remembering();
    const limiter = over({ name: 'app', store }, { name: 'route', store, policy: hourly(2), cost: 2 });

    const responses = [await respondTo(limiter), await respondTo(limiter)];

    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 429]);
    expect(responses.map(({ headers }) => headers.get('ratelimit'))).toEqual([
      '"app";r=8;t=3600, "route";r=0;t=3600',
      '"app";r=8;t=3600, "route";r=0;t=3600',
    ]);
    expect(store.asked.map((asks) => asks.length)).toEqual([2, 2]);
  });

  it('answer as the innermost one that limits the request', async () => {
    const store = memoryStore();
    const onDenied = (name: string) => (_request: PlainRequest, response: PlainResponse) => (response.body = name);
    const skip = ({ user }: PlainRequest): boolean => user === 'admin';
    const limiter = over(
      { name: 'app', store, policy: hourly(1), headers: { legacy: 'delta' }, onDenied: onDenied('app') },
      { name: 'route', store, headers: false, onDenied: onDenied('route'), skip },
    );
    await respondTo(limiter);

    const [route, app] = [await respondTo(limiter), await respondTo(limiter, { user: 'admin' })];

    expect([route.body, app.body]).toEqual(['route', 'app']);
    expect([route, app].map(({ headers }) => headers.has('x-ratelimit-limit'))).toEqual([false, true]);
  });

  it('are skipped, and allow a client, each for itself; a list that denies goes before both', async () => {
    const store = memoryStore();
    const limiter = over(
      { name: 'app', store, policy: hourly(1), key: byUser(), deny: ['mallory'] },
      { name: 'route', store, policy: hourly(2), allow: ['192.0.2.0/24'] },
    );
    const statusOf = async (request: PlainRequest): Promise<number> => (await respondTo(limiter, request)).statusCode;

    expect([
      await statusOf({ user: 'mallory' }),
      await statusOf({ user: 'ann' }),
      await statusOf({ user: 'ann' }),
    ]).toEqual([...[403, 200, 429]]);
  });

  it.each<[OnStoreError, OnStoreError, number | string]>([
    ['deny', 'allow', 503],
    ['allow', 'throw', 'SLUICE_STORE_FAILED'],
    ['local', 'deny', 503],
    ['allow', 'local', 429],
    ['allow', 'allow', 200],
  ])('do the strictest while the store is away: %s and %s', async (outer, inner, expected) => {
    const store = away();
    const limiter = over(
      { name: 'app', store, policy: hourly(1), onStoreError: outer },
      { name: 'route', store, onStoreError: inner },
    );
    const outcome = async (): Promise<unknown> =>
      respondTo(limiter).then(
        ({ statusCode }) => statusCode,
        ({ code }: { code: string }) => code,
      );
    await outcome();

    expect(await outcome()).toBe(expected);
  });

  it('need one store and a name each', () => {
    const store = memoryStore();

    expect(() => over({ name: 'app' }, { name: 'route' })).toThrow(/need one store, got several in "app" and "route"/);
    expect(() => over({ name: 'app', store, shared: true }, { name: 'app', store, shared: true })).toThrow(
      'names must be unique',
    );
  });
});

describe('a request with a store that hangs', () => {
  const hanging = (): Store => ({ source: 'redis', perform: async () => new Promise(() => undefined) });
  const preflight = {
    method: 'OPTIONS',
    headers: { origin: 'https://a.example', 'access-control-request-method': 'POST' },
  };

  it.each<[string, PlainRequest]>([
    ['request', {}],
    ['preflight', preflight],
  ])('waits 100 ms for all its limiters together: a %s', async (_what, request) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const limiters = [1, 2, 3].map(() => over({ store: hanging(), onStoreError: 'allow' }));
    let passed = 0;
    const startMs = performance.now();
    const served = (async () => {
      for (const limiter of limiters) if (await limiter.limit(request, new PlainResponse())) passed++;
    })();

    await jest.advanceTimersByTimeAsync(99);
    const before = passed;
    await jest.advanceTimersByTimeAsync(6);
    jest.useRealTimers();

    expect([before, passed]).toEqual([0, 3]);
    expect(performance.now()).not.toBe(startMs);
    await served;
  });
});

describe('a request', () => {
  it('counts once for each limiter, even if it is frozen, and gets no property', async () => {
    const [first, second] = [over({ name: 'first' }), over({ name: 'second' })];
    const request = Object.freeze({ address: '192.0.2.7' });

    const plans = [];
    for (const limiter of [first, second, first, second]) plans.push(await limiter.plan(request, new PlainResponse()));

    expect(plans.map(({ info }) => info?.decision.remaining)).toEqual([8, 8, undefined, undefined]);
    expect(Reflect.ownKeys(request)).toEqual(['address']);
    expect(await first.keyFor(request)).toBe('*');
  });

  it('is decided in the same tick if store and functions are synchronous', () => {
    const limiter = over({ policy: hourly(1), skip: () => false, cost: () => 1, key: () => 'k', deny: ['::1'] });

    expect(limiter.limit({}, new PlainResponse())).toBe(true);
    expect(limiter.limit({}, new PlainResponse())).toBe(false);
  });

  it('goes on once by a callback, which gets an error for anything that is thrown', async () => {
    const calls: unknown[][] = [];
    const call = (options: object): void =>
      over({ policy: hourly(1), ...options }).limitThen({}, new PlainResponse(), (...given) => calls.push(given));
    call({});
    call({ deny: ['192.0.2.1'] });
    call({
      skip: () => {
        throw 'route';
      },
    }); // eslint-disable-line @typescript-eslint/only-throw-error -- users do
    await call({ skip: async () => Promise.resolve(true) });
    await new Promise(setImmediate);

    expect(calls).toEqual([[], [expect.any(Error)], []]);
  });
});

describe('the limiter of a middleware', () => {
  const middleware = (options: object) => {
    const own = place({ policy: hourly(1), key: byUser(), ...options });
    const requests = new RequestLimiter([own], plainFramework);
    return { limited: withLimiter(() => undefined, { requests, place: own }), requests };
  };

  it('resets the key of a request, also one that was read before it changed', async () => {
    let reads = 0;
    const { limited, requests } = middleware({ key: () => `k${String(reads++)}` });
    const request = {};
    await requests.plan(request, new PlainResponse());

    expect(await limited.keyFor(request)).toBe('k0');
    expect((await limited.limiter.peek('k0' as never)).remaining).toBe(0);
  });

  it('has the keys of several limits without those that are missing', async () => {
    const limits = [
      { name: 'ip', policy: hourly(1) },
      { name: 'user', policy: hourly(1), key: byUser(), onMissingKey: 'shared' },
    ];
    const { limited } = middleware({ limits, policy: undefined, key: undefined });

    expect(await limited.keyFor({})).toEqual({ ip: '192.0.2.1' });
  });

  it.each<[string, object]>([
    ['one limit', { onMissingKey: 'shared' }],
    ['limits', { limits: [{ name: 'user', policy: hourly(1), key: byUser() }], policy: undefined, key: undefined }],
  ])('has no key of a request without one: %s', async (_what, options) => {
    const { limited, requests } = middleware(options);
    const request = {};
    await requests.plan(request, new PlainResponse());

    await expect(limited.keyFor(request)).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
  });

  it('is the option limiter, or always the same one; none if a function picks the policy', () => {
    const limiter = createLimiter({ policy: hourly(1) });
    const { limited } = middleware({});

    expect(middleware({ policy: undefined, limiter }).limited.limiter).toBe(limiter);
    expect(limited.limiter).toBe(limited.limiter);
    expect(() => middleware({ policy: () => hourly(1) }).limited.limiter).toThrow(
      /^there is no single limiter if a function picks the policy; make one per policy with createLimiter/,
    );
  });
});

describe('report mode', () => {
  it('counts in the budget of the limit that it rehearses', async () => {
    const own = { store: memoryStore(), shared: true, policy: hourly(1) };
    const [report, enforce] = [over({ ...own, mode: 'report' }), over(own)];

    expect([await respondTo(report), await respondTo(report)].map(({ headers }) => headers.size)).toEqual([0, 0]);
    expect((await respondTo(enforce)).statusCode).toBe(429);
  });

  it('starts no block', async () => {
    const own = { store: memoryStore(), shared: true, policy: { ...hourly(1), blockForMs: 7_200_000 } };
    const [report, enforce] = [over({ ...own, mode: 'report' }), over(own)];
    for (let i = 0; i < 3; i++) await respondTo(report);

    expect((await respondTo(enforce)).headers.get('retry-after')).toBe('7200');
    expect((await report.plan({}, new PlainResponse())).info?.decision.outcome).toBe('blocked');
  });

  it.each<[string, object]>([
    ['throw', { throw: true }],
    ['onDenied', { onDenied: (_request: unknown, response: PlainResponse) => (response.body = 'no') }],
    ['a missing key', { key: byUser() }],
    ['a cost that is no number', { cost: () => NaN }],
    ['a policy without a name', { policy: () => hourly(1) }],
    ['a store that is away', { store: away(), onStoreError: 'throw' }],
    ['a function that rejects', { onDecision: async () => Promise.reject(new Error('broken')) }],
  ])('answers no request, whatever the options: %s', async (_what, options) => {
    const limiter = over({ policy: hourly(1), mode: 'report', ...options });

    const responses = [await respondTo(limiter), await respondTo(limiter)];

    expect(responses.map(({ headers, statusCode, body }) => [headers.size, statusCode, body])).toEqual([
      ...[
        [0, 200, undefined],
        [0, 200, undefined],
      ],
    ]);
  });
});
