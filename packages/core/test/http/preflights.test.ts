import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, leakyBucket } from '@sluice/core';
import { byAll, byHeader, byIp, byUser } from '@sluice/core/http';
import { plainFramework, remembering, sending, statusesOf, type PlainRequest } from './plain-framework.ts';

const two = fixedWindow({ limit: 2, window: '1h' });
const asked = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
const preflight = (request: PlainRequest = {}): PlainRequest => ({ method: 'OPTIONS', headers: asked, ...request });
const times = (count: number): PlainRequest[] => Array.from({ length: count }, () => preflight());

describe('a preflight', () => {
  it.each<[string, PlainRequest, number]>([
    ['a body of no bytes', { headers: { ...asked, 'content-length': '0' } }, 200],
    ['no body over HTTP/2', { stream: { endAfterHeaders: true } }, 200],
    ['a body over HTTP/2, which needs no length', { stream: { endAfterHeaders: false } }, 429],
    ['a type of body', { headers: { ...asked, 'content-type': 'application/json' } }, 429],
    ['credentials', { headers: { ...asked, authorization: 'Bearer a' } }, 429],
  ])('that has %s is one for browsers alone', async (_what, request, third) => {
    const requests = Array.from({ length: 3 }, () => preflight(request));

    expect(await statusesOf({ policy: two, preflights: 'skip' }, requests)).toEqual([200, 200, third]);
  });
});

describe('the budget of preflights', () => {
  it.each<[string, object]>([
    ['a header and an address', { key: [byIp(), byHeader('x-key')] }],
    ['nothing of its request', { key: byAll() }],
    ['a policy of its request', { policy: () => fixedWindow({ name: 'plan', limit: 1, window: '1h' }) }],
    ['a slot', { policy: concurrency({ limit: 1, ttl: '30s' }) }],
  ])('is 600 a minute for each address if the limit needs %s', async (_what, options) => {
    const statuses = await statusesOf({ policy: two, ...options }, [
      ...times(601),
      preflight({ address: '192.0.2.2' }),
    ]);

    expect([statuses.indexOf(429), ...statuses.slice(600)]).toEqual([600, 429, 200]);
  });

  it('is that of each limit by address among several, each by its prefix', async () => {
    const limits = [
      { name: 'each', policy: two },
      { name: 'network', policy: { ...two, limit: 3 }, key: byIp({ ipv6Prefix: 32 }) },
      { name: 'user', policy: two, key: byUser() },
    ];
    const requests = ['1', '1', '1', '2', '2'].map((net) => preflight({ address: `2001:db8:${net}::1` }));

    expect(await statusesOf({ limits }, requests)).toEqual([200, 200, 429, 200, 429]);
  });

  it('holds no slot, waits for nothing, and gives nothing back', async () => {
    const store = remembering();
    const paced = leakyBucket({ name: 'paced', limit: 1, window: '1h', maxDelay: '3h' });
    const policy = [{ ...two, name: 'calls' }, paced, concurrency({ name: 'slots', limit: 1, ttl: '30s' })];

    expect(await statusesOf({ policy, store, refund: 'on-failure' }, times(3))).toEqual([200, 200, 429]);
    expect(store.ops).toEqual(['take', 'take', 'take']);
  });

  it('is one for all places that use a limiter, and no key of a client is counted in it', async () => {
    const limiter = createLimiter({ policy: two });
    const [first, second] = [sending({ limiter }), sending({ limiter })];
    for (const key of ['#preflight', '#preflight:192.0.2.1', '192.0.2.1']) await limiter.consume(key, 2);

    const plans = [await first(preflight()), await second(preflight()), await first(preflight())];

    expect(plans.map(({ denial }) => denial?.status)).toEqual([undefined, undefined, 429]);
  });

  it.each<[object, readonly number[]]>([
    [{ allow: ['192.0.2.0/24'] }, [200, 200, 200]],
    [{ mode: 'report', deny: ['192.0.2.1'] }, [200, 200, 200]],
    [{ deny: ['192.0.2.1'] }, [403, 403, 403]],
    [{ deny: ['192.0.2.7'] }, [200, 200, 429]],
  ])('with %j: three preflights get %j', async (options, statuses) => {
    expect(await statusesOf({ policy: two, ...options }, times(3))).toEqual(statuses);
  });

  it('is none if requests have no address: one for all clients could lock them out together', async () => {
    const [store, framework] = [remembering(), { ...plainFramework, noAddress: 'pass address' }];

    await sending({ policy: two, key: byAll(), store }, framework)(preflight());

    expect(store.ops).toEqual([]);
  });
});
