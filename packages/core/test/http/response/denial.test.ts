import { describe, expect, it } from '@jest/globals';
import { concurrency, fixedWindow, memoryStore, type Duration } from '@sluice/core';
import { byUser, RequestLimiter } from '@sluice/core/http';
import { fakeClock } from '@sluice/core/testing';
import { place, plainFramework, PlainResponse, respondTo, sending } from '../plain-framework.ts';

const once = (window: Duration, name = 'default') => fixedWindow({ limit: 1, window, name });

/** What the denial of the third request tells. */
async function problemOf(options: object): Promise<Record<string, unknown>> {
  const send = sending({ policy: once('1d'), ...options });
  await send();
  await send();
  return JSON.parse((await send()).denial?.body ?? '{}') as Record<string, unknown>;
}

describe('the body of a denial', () => {
  it.each<[object, string]>([
    [once('1s'), 'The limit default is used up. Try again in 1 second.'],
    [once('120s'), 'The limit default is used up. Try again in 120 seconds.'],
    [[once('1s', 'a'), once('121s', 'b')], 'The limits a and b are used up. Try again in 121 seconds.'],
    [{ ...once('1s'), blockForMs: 5_000 }, 'The limit default blocks this client. Try again in 5 seconds.'],
    [concurrency({ limit: 1, ttl: '1m' }), 'The limit default is used up. Try again later.'],
    [fixedWindow({ limit: 0, window: '1m' }), 'The limit default is used up, and waiting does not help.'],
  ])('of %j says how long to wait, and for which limit', async (policy, detail) => {
    expect(await problemOf({ policy, store: memoryStore({ clock: fakeClock() }) })).toMatchObject({ detail });
  });

  it('says that a cost never fits its limit, which may be unused', async () => {
    const policy = [once('1d', 'small'), fixedWindow({ limit: 9, window: '1d', name: 'large' })];

    expect((await problemOf({ policy, cost: 2 }))['detail']).toBe(
      'The request costs more than the limit small ever allows, and waiting does not help.',
    );
  });

  it.each<[string, object, number, string]>([
    ['a used up limit', {}, 420, 'Quota Exceeded'],
    ['an address on the list deny', { deny: ['192.0.2.1'] }, 404, 'Denied'],
    ['a missing key', { key: byUser() }, 499, 'Denied'],
    ['a blocked key', { policy: { ...once('1d'), blockForMs: 1_000 } }, 451, 'Quota Exceeded'],
  ])('has the option status for %s', async (_what, options, status, title) => {
    const statuses = { denied: 420, blocked: 451, deny: 404, missingKey: 499 };

    expect(await problemOf({ ...options, status: statuses })).toMatchObject({ status, title });
  });
});

describe('the response of a denial', () => {
  const denying = async (options: object = {}, framework = plainFramework) => {
    const limiter = new RequestLimiter([place({ policy: once('1d'), ...options }, framework)], framework);
    await respondTo(limiter);
    return limiter;
  };

  it('has no field about another body', async () => {
    const response = new PlainResponse();
    for (const name of ['content-length', 'content-encoding', 'etag', 'x-own']) response.headers.set(name, '5');

    await (await denying()).limit({}, response);

    const ours = ['cache-control', 'content-type', 'ratelimit', 'ratelimit-policy', 'retry-after'];
    expect([...response.headers.keys()].toSorted()).toEqual([...ours, 'x-own']);
  });

  it('is an error if another response has begun, with the fields that it would have had', async () => {
    const [limiter, response] = [await denying(), Object.assign(new PlainResponse(), { headersSent: true })];

    await expect((async () => limiter.limit({}, response))()).rejects.toMatchObject({
      ...{ name: 'RateLimitError', code: 'SLUICE_DENIED', status: 429, message: 'Too many requests' },
      headers: { 'RateLimit-Policy': '"default";q=1;w=86400', 'Cache-Control': 'no-store', 'Retry-After': '86400' },
    });
    expect([response.headers.size, response.body]).toEqual([0, undefined]);
  });

  it('is an error with throw: true, with the fields of all limiters', async () => {
    const [limiter, response] = [await denying({ throw: true }), new PlainResponse()];
    response.headers.set('ratelimit-policy', '"outer";q=3').set('ratelimit', '"outer";r=2');

    await expect((async () => limiter.limit({}, response))()).rejects.toMatchObject({
      ...{ name: 'RateLimitError', status: 429, statusCode: 429, expose: true },
      headers: { RateLimit: '"outer";r=2, "default";r=0;t=86400' },
    });
  });
});
