import { describe, expect, it, jest } from '@jest/globals';
import { fixedWindow, memoryStore, silenceWarnings, type OnStoreError, type Store } from '@sluice/core';
import { byAll, byUser, RequestLimiter, withLimiter, type Limited } from '@sluice/core/http';
import { place, plainFramework, PlainResponse, remembering, respondTo, type PlainRequest } from './plain-framework.ts';

silenceWarnings('SLUICE_STORE_AWAY', 'SLUICE_REPORT_FAILED');

const hourly = (limit: number) => fixedWindow({ limit, window: '1h' });
/** A limiter of several places, the outermost first. */
function over(...options: readonly object[]): RequestLimiter {
  const places = options.map((own) => place({ key: byAll(), policy: hourly(1), ...own }));
  return new RequestLimiter(places, plainFramework);
}
const storeThat = (perform: Store['perform']): Store => ({ source: 'redis', perform });
const away = () => storeThat(async () => Promise.reject(new Error('away')));

describe('several places over one request', () => {
  it('take everything or nothing, in one call of the store', async () => {
    const store = remembering();
    const limiter = over({ name: 'app', store, policy: hourly(9) }, { name: 'route', store });

    const responses = [await respondTo(limiter), await respondTo(limiter)];

    const fields = '"app";r=8;t=3600, "route";r=0;t=3600';
    expect(responses.map(({ statusCode }) => statusCode)).toEqual([200, 429]);
    expect(responses.map(({ headers }) => headers.get('ratelimit'))).toEqual([fields, fields]);
    expect(store.asked.map((asks) => asks.length)).toEqual([2, 2]);
  });

  it('skip and allow each for itself, and answer as the innermost one that limits the request', async () => {
    const store = memoryStore();
    const onDenied = (name: string) => (_request: unknown, response: PlainResponse) => (response.body = name);
    const skip = ({ user }: PlainRequest): boolean => user === 'admin';
    const limiter = over(
      { name: 'app', store, headers: false, onDenied: onDenied('app'), deny: ['192.0.2.66'] },
      { name: 'route', store, policy: hourly(9), onDenied: onDenied('route'), skip, allow: ['192.0.2.7'] },
    );
    await respondTo(limiter);

    const requests = [{}, { user: 'admin' }, { address: '192.0.2.7' }, { address: '192.0.2.66' }];
    const responses = [];
    for (const request of requests) responses.push(await respondTo(limiter, request));

    expect(responses.map(({ body }) => body?.slice(0, 5))).toEqual(['route', 'app', 'app', '{"typ']);
    expect(responses.map(({ headers }) => headers.has('ratelimit'))).toEqual([true, false, false, false]);
  });

  it.each<[OnStoreError, OnStoreError, number | string]>([
    ['deny', 'allow', 503],
    ['allow', 'throw', 'SLUICE_STORE_FAILED'],
    ['local', 'deny', 503],
    ['allow', 'local', 429],
    ['allow', 'allow', 200],
  ])('do the strictest while the store is away: %s and %s', async (outer, inner, expected) => {
    const store = away();
    const limiter = over({ name: 'app', store, onStoreError: outer }, { name: 'route', store, onStoreError: inner });
    const outcome = async (): Promise<unknown> =>
      respondTo(limiter).then(
        ({ statusCode }) => statusCode,
        (error: unknown) => (error as { code: string }).code,
      );
    await outcome();

    expect(await outcome()).toBe(expected);
  });

  it('need one store and a name each', () => {
    const own = { name: 'app', store: memoryStore(), shared: true };

    expect(() => over({ name: 'app' }, { name: 'route' })).toThrow(
      /need the same store, got several in "app" and "route"/,
    );
    expect(() => over(own, own)).toThrow('names must be unique');
  });
});

describe('a request', () => {
  const asked = { origin: 'https://a.example', 'access-control-request-method': 'POST' };

  it.each<[string, PlainRequest]>([
    ['of any kind', {}],
    ['that is a preflight', { method: 'OPTIONS', headers: asked }],
  ])('%s waits 100 ms for all its limiters together if the store hangs', async (_what, request) => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask'] });
    const store = () => storeThat(async () => new Promise(() => undefined));
    const limiters = [1, 2, 3].map(() => over({ store: store(), onStoreError: 'allow' }));
    let passed = 0;
    const served = (async () => {
      for (const limiter of limiters) if (await limiter.limit(request, new PlainResponse())) passed++;
    })();

    await jest.advanceTimersByTimeAsync(99);
    const before = passed;
    await jest.advanceTimersByTimeAsync(6);
    jest.useRealTimers();

    expect([before, passed]).toEqual([0, 3]);
    await served;
  });

  it('counts once for each limiter, even if it is frozen, and gets no property', async () => {
    const [first, second] = [over({ name: 'first' }), over({ name: 'second' })];
    const request = Object.freeze({ address: '192.0.2.7' });

    const plans = [];
    for (const limiter of [first, second, first, second]) plans.push(await limiter.plan(request, new PlainResponse()));

    expect(plans.map(({ info }) => info?.decision.remaining)).toEqual([0, 0, undefined, undefined]);
    expect(Reflect.ownKeys(request)).toEqual(['address']);
  });

  it('keeps the key that was counted, for keyFor, and has none if it is missing', async () => {
    let reads = 0;
    const key = ({ user }: PlainRequest): string | undefined => user && `${user}${String(reads++)}`;
    const own = place({ policy: hourly(1), key, onMissingKey: 'shared' });
    const requests = new RequestLimiter([own], plainFramework);
    const { limiter, keyFor } = withLimiter(() => undefined, requests) as Limited<PlainRequest>;
    const [ann, unknown] = [{ user: 'ann' }, {}];
    for (const request of [ann, unknown]) await requests.plan(request, new PlainResponse());

    expect([await keyFor(ann), await keyFor({ user: 'bob' })]).toEqual(['ann0', 'bob1']);
    expect((await limiter.peek('ann0')).remaining).toBe(0);
    await expect(keyFor(unknown)).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
  });
});

describe('a response that another has begun while the store was asked', () => {
  it.each<[string, boolean, boolean]>([
    ['a stream goes on', false, true],
    ['an answer that was sent is left as it is', true, false],
  ])('gets no fields: %s', async (_what, writableEnded, goesOn) => {
    const inner = memoryStore();
    const store = storeThat(async (op, asks) => Promise.resolve(inner.perform(op, asks)));
    const response = new PlainResponse();
    const decided = over({ store }).limit({}, response);
    Object.assign(response, { headersSent: true, writableEnded });

    expect([await decided, response.headers.size]).toEqual([goesOn, 0]);
  });
});

describe('report mode', () => {
  it('counts in the budget of the limit that it rehearses, and starts no block', async () => {
    const own = { store: memoryStore(), shared: true, policy: { ...hourly(1), blockForMs: 7_200_000 } };
    const [report, enforce] = [over({ ...own, mode: 'report' }), over(own)];
    const outcome = async () => (await report.plan({}, new PlainResponse())).info?.decision.outcome;

    expect([await outcome(), await outcome(), await outcome()]).toEqual(['allowed', 'denied', 'denied']);
    expect((await respondTo(enforce)).headers.get('retry-after')).toBe('7200');
    expect(await outcome()).toBe('blocked');
  });

  it.each<[string, object]>([
    ['throw', { throw: true }],
    ['onDenied', { onDenied: (_request: unknown, response: PlainResponse) => (response.body = 'no') }],
    ['a missing key', { key: byUser() }],
    ['a client on the list deny', { deny: ['192.0.2.1'] }],
    ['a cost that is no number', { cost: () => NaN }],
    ['a policy without a name', { policy: () => hourly(1) }],
    ['a store that is away', { store: away(), onStoreError: 'throw' }],
    ['a function that rejects', { onDecision: async () => Promise.reject(new Error('broken')) }],
  ])('answers no request, whatever the options: %s', async (_what, options) => {
    const limiter = over({ mode: 'report', ...options });
    await respondTo(limiter);

    expect(await respondTo(limiter)).toMatchObject({ headers: new Map(), statusCode: 200, body: undefined });
  });
});
