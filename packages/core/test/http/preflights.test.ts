import { describe, expect, it } from '@jest/globals';
import { concurrency, createLimiter, fixedWindow, leakyBucket, memoryStore } from '@sluice/core';
import { byAll, byHeader, byIp, byUser } from '@sluice/core/http';
import { plainFramework, remembering, sending, statusesOf, type PlainRequest } from './plain-framework.ts';

const two = fixedWindow({ limit: 2, window: '1h' });
const asked = { origin: 'https://a.example', 'access-control-request-method': 'POST' };
const preflight = (request: PlainRequest = {}): PlainRequest => ({ method: 'OPTIONS', headers: asked, ...request });
const times = (count: number): PlainRequest[] => Array.from({ length: count }, () => preflight());

describe('an OPTIONS request', () => {
  const isFree = async (request: PlainRequest): Promise<boolean> =>
    (
      await statusesOf(
        { policy: two, preflights: 'skip' },
        Array.from({ length: 3 }, () => request),
      )
    )[2] === 200;

  it.each<[string, object, PlainRequest['stream']]>([
    ['without a body', {}, undefined],
    ['with a body of no bytes', { 'content-length': '0' }, undefined],
    ['that ends with its header fields over HTTP/2', {}, { endAfterHeaders: true }],
  ])('is a preflight %s', async (_how, headers, stream) => {
    expect(await isFree(preflight({ headers: { ...asked, ...headers }, ...(stream && { stream }) }))).toBe(true);
  });

  it.each<[string, object, PlainRequest['stream']]>([
    ['a body', { 'content-length': '5' }, undefined],
    ['a body in chunks', { 'transfer-encoding': 'chunked' }, undefined],
    ['a body over HTTP/2, which needs no length', {}, { endAfterHeaders: false }],
    ['a type of body', { 'content-type': 'application/json' }, undefined],
    ['credentials', { authorization: 'Bearer a' }, undefined],
  ])('counts with %s', async (_what, headers, stream) => {
    expect(await isFree(preflight({ headers: { ...asked, ...headers }, ...(stream && { stream }) }))).toBe(false);
  });
});

describe('the budget of preflights', () => {
  it.each<[string, object]>([
    ['a user', { key: byUser() }],
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
      { name: 'each', policy: two, key: byIp() },
      { name: 'network', policy: { ...two, limit: 3 }, key: byIp({ ipv6Prefix: 32 }) },
      { name: 'user', policy: two, key: byUser() },
    ];
    const from = (address: string): PlainRequest => preflight({ address });

    const statuses = await statusesOf(
      { limits },
      ['1', '1', '1', '2', '2'].map((net) => from(`2001:db8:${net}::1`)),
    );

    expect(statuses).toEqual([200, 200, 429, 200, 429]);
  });

  it('holds no slot, waits for nothing, and gives nothing back', async () => {
    const store = remembering();
    const policy = [
      { ...two, name: 'calls' },
      leakyBucket({ name: 'paced', limit: 1, window: '1h', maxDelay: '3h' }),
      concurrency({ name: 'slots', limit: 1, ttl: '30s' }),
    ];

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

  it('neither denies nor counts a client on a list, nor in report mode', async () => {
    expect(await statusesOf({ policy: two, allow: ['192.0.2.0/24'] }, times(4))).not.toContain(429);
    expect(await statusesOf({ policy: two, deny: ['192.0.2.1'] }, times(3))).toEqual([200, 200, 429]);
    expect(await statusesOf({ policy: two, mode: 'report' }, times(4))).not.toContain(429);
  });

  it('is none if requests have no address: one for all clients could lock them out together', async () => {
    const framework = { ...plainFramework, noAddress: 'pass address', address: () => undefined };
    const store = remembering(memoryStore());
    const send = sending({ policy: two, key: byAll(), store }, framework);

    for (let i = 0; i < 3; i++) expect((await send(preflight())).denial).toBeUndefined();
    expect(store.ops).toEqual([]);
  });
});
