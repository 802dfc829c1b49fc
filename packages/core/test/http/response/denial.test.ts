import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, memoryStore, redisStore, tokenBucket } from '@sluice/core';
import { byUser, RequestLimiter } from '@sluice/core/http';
import { fakeClock } from '@sluice/core/testing';
import { expectWarnings } from '@sluice/testkit';
import {
  lines,
  place,
  plainFramework,
  PlainResponse,
  respondTo,
  sending,
  type PlainLimiter,
} from '../plain-framework.ts';

expectWarnings('SLUICE_KEY_MISSING');

const once = (window: '1s' | '120s' | '121s' | '1d' | '30d', name?: string) =>
  fixedWindow({ limit: 1, window, ...(name && { name }) });
const limiterOf = (options: object, framework = plainFramework): PlainLimiter =>
  new RequestLimiter([place({ policy: once('1d'), ...options }, framework)], framework);

interface Problem {
  readonly status?: number;
  readonly title?: string;
  readonly detail?: string;
}

const problemOf = async (options: object, count = 2): Promise<Problem> => {
  const send = sending({ policy: once('1d'), store: memoryStore({ clock: fakeClock() }), ...options });
  let denial;
  for (let i = 0; i < count; i++) ({ denial } = await send());
  return JSON.parse(denial?.body ?? '{}') as Problem;
};

describe('the body of a denial', () => {
  it.each<[object, string]>([
    [{ policy: once('1s') }, 'The limit default is used up. Try again in 1 second.'],
    [{ policy: once('120s') }, 'The limit default is used up. Try again in 120 seconds.'],
    [{ policy: once('121s') }, 'The limit default is used up. Try again in 3 minutes.'],
    [{ policy: once('1d') }, 'The limit default is used up. Try again in 24 hours.'],
    [{ policy: once('30d') }, 'The limit default is used up. Try again in 30 days.'],
    [{ policy: [once('1s', 'a'), once('121s', 'b')] }, 'The limits a and b are used up. Try again in 3 minutes.'],
    [{ policy: { ...once('1s'), blockForMs: 5_000 } }, 'The limit default blocks this client. Try again in 5 seconds.'],
    [{ policy: concurrency({ limit: 1, ttl: '1m' }) }, 'The limit default is used up. Try again later.'],
    [
      { policy: tokenBucket({ capacity: 2, refill: 1, every: '1s' }), cost: 3 },
      'The limit default is used up, and waiting does not help.',
    ],
  ])('of %j says how long to wait, and for which limit', async (options, expected) => {
    expect((await problemOf(options, 3)).detail).toBe(expected);
  });

  it('tells the client nothing of the error of the store', async () => {
    const seen: unknown[] = [];
    const store = redisStore('redis://127.0.0.1:1', { prefix: 'unreachable' });
    const onDecision = ({ error }: { error?: Error }): unknown => seen.push(error?.name);

    const plan = await sending({ policy: once('1d'), store, onStoreError: 'deny', onDecision })();
    await store.close?.();

    expect(seen).toEqual(['StoreError']);
    expect(plan.denial?.status).toBe(503);
    expect(JSON.stringify([plan.denial, lines(plan)])).not.toMatch(/127\.0\.0\.1|SLUICE_STORE|[Rr]edis/);
  });
});

describe('the option status', () => {
  const status = { denied: 420, blocked: 451, deny: 404, missingKey: 499 };
  const blocked = async () => {
    const limiter = createLimiter({ policy: once('1d') });
    await limiter.block('192.0.2.1', '1h');
    return { policy: undefined, store: undefined, limiter };
  };

  it.each<[string, () => object | Promise<object>, number, string]>([
    ['a used up limit', () => ({}), 420, 'Quota Exceeded'],
    ['a blocked key', blocked, 451, 'Quota Exceeded'],
    ['an address on the list deny', () => ({ deny: ['192.0.2.1'] }), 404, 'Not Found'],
    ['a missing key', () => ({ key: byUser() }), 499, 'Denied'],
  ])('is that of %s, in the body too', async (_what, options, expected, title) => {
    expect(await problemOf({ ...(await options()), status })).toMatchObject({ status: expected, title });
  });

  it('leaves the others as they are', async () => {
    expect(await problemOf({ key: byUser(), status: { denied: 503 } })).toMatchObject({
      status: 403,
      title: 'Forbidden',
    });
  });
});

describe('the response of a denial', () => {
  it('has no field about another body', async () => {
    const [limiter, response] = [limiterOf({}), new PlainResponse()];
    for (const name of ['content-length', 'content-encoding', 'etag', 'x-own']) response.headers.set(name, '5');
    await respondTo(limiter);

    await limiter.limit({}, response);

    expect([...response.headers.keys()].toSorted()).toEqual([
      ...['cache-control', 'content-type', 'ratelimit', 'ratelimit-policy', 'retry-after', 'x-own'],
    ]);
  });

  it.each<[string, (request: unknown, response: PlainResponse) => unknown, unknown[]]>([
    ['a value', () => 'slow down', ['slow down']],
    ['a promise', async () => Promise.resolve('slow down'), ['slow down']],
    ['nothing', () => undefined, []],
    ['the response', (_request, response) => response, []],
  ])('is what onDenied returns, if the framework sends that: %s', async (_what, onDenied, expected) => {
    const values: unknown[] = [];
    const answerWith = (_response: PlainResponse, value: unknown): unknown => values.push(value);
    const limiter = limiterOf({ onDenied }, { ...plainFramework, answerWith });
    await respondTo(limiter);

    const response = await respondTo(limiter);

    expect([values, response.body, response.statusCode]).toEqual([expected, undefined, 429]);
  });

  it('is an error if another response has begun, with the fields that it would have had', async () => {
    const [limiter, response] = [limiterOf({}), new PlainResponse()];
    await respondTo(limiter);
    response.headersSent = true;

    const denied = async () => limiter.limit({}, response);

    await expect(denied()).rejects.toMatchObject({
      ...{ name: 'RateLimitError', code: 'SLUICE_DENIED', status: 429, message: 'Too many requests' },
      headers: { 'RateLimit-Policy': '"default";q=1;w=86400', 'Cache-Control': 'no-store', 'Retry-After': '86400' },
    });
    expect([response.headers.size, response.body]).toEqual([0, undefined]);
  });

  it.each([
    ['has ended', { writableEnded: true, headersSent: true }],
    ['has ended with an error', { writableEnded: true, headersSent: true, destroyed: true }],
  ])('is not written over one that %s', async (_how, state) => {
    const [limiter, response] = [limiterOf({ throw: true }), Object.assign(new PlainResponse(), state)];
    await respondTo(limiter);

    expect(await limiter.limit({}, response)).toBe(false);
    expect([response.headers.size, response.body]).toEqual([0, undefined]);
  });

  it('names neither code nor list to a client, as an error', async () => {
    const limiter = limiterOf({ deny: ['192.0.2.1'], throw: true });

    await expect((async () => respondTo(limiter))()).rejects.toMatchObject({ message: 'Forbidden', status: 403 });
  });
});
