import { connect } from 'node:net';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { fakeClock, startTcpProxy, until, useRedis } from '@sluice/testkit';
import { redisStore, silenceWarnings } from '@sluice/old-core';
import { WaitingBodies } from '../../../src/transport/bodies.ts';
import { descriptor } from '../running-service.ts';
import { JsonService, detailOf, send, type JsonAnswer } from './json-service.ts';

const LIMITS = `
domain: shop
descriptors:
  - key: user
    rate_limit: { unit: minute, requests_per_unit: 2, name: per-user }
  - key: closed
    rate_limit: { unit: minute, requests_per_unit: 0 }
  - key: free
    rate_limit: { unlimited: true }
`;
const REQUEST = { domain: 'shop', descriptors: [descriptor('user=ann')] };
const LONGEST = 1024 * 1024;
silenceWarnings('SLUICE_STORE_AWAY');
const redis = useRedis();

describe('POST /json', () => {
  let service: JsonService;
  const start = async (options: Parameters<typeof JsonService.start>[1] = {}): Promise<void> => {
    service = await JsonService.start(LIMITS, {
      store: memoryStore({ clock: fakeClock(1_795_262_400_250) }),
      token: 'secret',
      ...options,
    });
  };
  beforeEach(() => start());
  afterEach(() => service.close());

  it('answers 200 with a RateLimitResponse, and its header fields, where the request is allowed', async () => {
    const answer = await service.ask(REQUEST);

    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'ratelimit-policy': '"per-user";q=2;w=60',
      ratelimit: '"per-user";r=1;t=60',
    });
    expect(JSON.parse(answer.body)).toEqual({
      overallCode: 'OK',
      statuses: [
        {
          code: 'OK',
          currentLimit: { name: 'per-user', requestsPerUnit: 2, unit: 'MINUTE' },
          limitRemaining: 1,
          durationUntilReset: '60s',
        },
      ],
      responseHeadersToAdd: [
        { key: 'RateLimit-Policy', value: '"per-user";q=2;w=60' },
        { key: 'RateLimit', value: '"per-user";r=1;t=60' },
      ],
      dynamicMetadata: { source: 'memory', policy: 'minute', outcome: 'allowed' },
    });
  });

  it('answers 429 with Retry-After where it is denied', async () => {
    const answer = await service.ask({ ...REQUEST, hitsAddend: 3 });

    expect(answer.status).toBe(429);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/json', ratelimit: '"per-user";r=2' });
    expect(JSON.parse(answer.body)).toMatchObject({
      overallCode: 'OVER_LIMIT',
      statuses: [{ code: 'OVER_LIMIT', durationUntilReset: '60s' }],
    });
    await service.ask({ ...REQUEST, hitsAddend: 2 });
    expect((await service.ask(REQUEST)).headers['retry-after']).toBe('60');
  });

  it('counts together with gRPC', async () => {
    await service.rls.ask(REQUEST);
    await service.ask(REQUEST);

    expect((await service.rls.ask(REQUEST)).overallCode).toBe('OVER_LIMIT');
    expect((await service.ask(REQUEST)).status).toBe(429);
    expect(service.decided.map(({ allowed }) => allowed)).toEqual([true, false]);
  });

  it('takes any content type, as curl sends one by itself', async () => {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };

    expect(await service.ask(REQUEST, headers)).toMatchObject({ status: 200 });
  });

  it.each(['GET', 'PUT', 'DELETE', 'OPTIONS'])('answers 405 to %s', async (method) => {
    expect(await send(service.port, { method })).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });

  it.each([
    ['no JSON', 'domain=shop', /^the body: expected JSON, got /],
    ['nothing', '', /^the body: expected JSON, got /],
    ['no UTF-8', Buffer.from([0x22, 0xc3, 0x28, 0x22]), /^the body: expected JSON, got /],
    ['a list', '[]', 'the request: expected an object, got a list; nothing was consumed'],
    ['no domain', '{"descriptors":[{}]}', 'the rate limit domain must not be empty'],
    ['no descriptors', '{"domain":"shop"}', 'the list of descriptors must not be empty'],
    ['an unknown field', '{"domains":"shop"}', /^the request has no field "domains"; known: domain, descriptors/],
    ['brackets in brackets', '['.repeat(LONGEST), /^the body: expected JSON, got /],
  ])('answers 400 to %s', async (_what, body, detail) => {
    const answer = await send(service.port, { body });

    expect(answer).toMatchObject({ status: 400, headers: { 'content-type': 'application/problem+json' } });
    expect(detailOf(answer)).toEqual(detail instanceof RegExp ? expect.stringMatching(detail) : detail);
  });

  it.each([
    ['announced', { 'content-length': String(LONGEST + 1) }],
    ['in chunks', { 'transfer-encoding': 'chunked' }],
  ])('answers 413 to a body of more than 1 MiB, %s, and ends the connection', async (_how, headers) => {
    const answer = await send(service.port, { body: Buffer.alloc(LONGEST + 1, ' '), headers });

    expect(answer).toMatchObject({ status: 413, headers: { connection: 'close' } });
    expect(await service.ask(REQUEST)).toMatchObject({ status: 200 });
  });

  it('takes a body of 1 MiB', async () => {
    const body = JSON.stringify(REQUEST).padEnd(LONGEST, ' ');

    expect(await send(service.port, { body })).toMatchObject({ status: 200 });
  });

  it('answers 408 to a body that does not end in time', async () => {
    await service.close();
    await start({ bodies: { longestMs: 50 } });
    const socket = connect(service.port, '127.0.0.1');
    socket.write('POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{');
    const answer = await textOf(socket);

    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toMatch(/connection: close/i);
  });

  it('answers 503 to the oldest body on its way where all take too much memory together', async () => {
    await service.close();
    const bounds = { mostOfClient: 10, most: 10, mostBytes: 150_000 };
    await start({ bodies: { waiting: new WaitingBodies(undefined, bounds) } });
    const slow = connect(service.port, '127.0.0.1');
    const answer = textOf(slow);
    slow.write('POST /json HTTP/1.1\r\nHost: x\r\nContent-Length: 120000\r\nExpect: 100-continue\r\n\r\n');
    await once(slow, 'data');
    slow.write(' '.repeat(100_000));
    const large = JSON.stringify(REQUEST).padEnd(100_000, ' ');

    await until('both do not fit', async () => {
      expect(await send(service.port, { body: large })).toMatchObject({ status: 200 });
      return slow.destroyed || slow.readableEnded;
    });
    expect(await answer).toMatch(/HTTP\/1\.1 503 /);
  });

  it('answers 503 at once beyond the requests that it takes', async () => {
    await service.close();
    const proxy = await startTcpProxy({ host: '127.0.0.1', port: redis.server.port });
    await start({
      store: redisStore(proxy.through(redis.server.url), { prefix: 'sluice' }),
      timeoutMs: 60_000,
      most: 3,
    });
    expect(await service.ask({ ...REQUEST, hitsAddend: 0 })).toMatchObject({ status: 200 });
    proxy.hang();
    let first: JsonAnswer | undefined;
    const waiting = Array.from({ length: 4 }, async () => {
      const answer = await service.ask(REQUEST);
      first ??= answer;
      return answer;
    });
    await until('one is turned away', () => first !== undefined);

    expect(first).toMatchObject({ status: 503, headers: { 'retry-after': '1' } });
    await proxy.heal();
    const statuses = (await Promise.all(waiting)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 503)).toHaveLength(1);
    expect(statuses.filter((status) => status === 200 || status === 429)).toHaveLength(3);
    proxy.close();
  });

  const refund = { domain: 'shop', descriptors: [descriptor('user=ann', { isNegativeHits: true })] };

  it.each([
    ['without a token', {}],
    ['with another token', { authorization: 'Bearer other' }],
  ])('answers 403 to a refund %s, and gives nothing back', async (_what, headers) => {
    await service.ask({ ...REQUEST, hitsAddend: 2 });
    const answer = await service.ask(refund, headers);

    expect(answer.status).toBe(403);
    expect(detailOf(answer)).toMatch(/^is_negative_hits needs /);
    expect(await service.ask(REQUEST)).toMatchObject({ status: 429 });
  });

  it('gives units back to a caller with the token, and on a private listener to every one but pages', async () => {
    await service.ask({ ...REQUEST, hitsAddend: 2 });
    expect(await service.ask(refund, { authorization: 'Bearer secret' })).toMatchObject({ status: 200 });
    expect(await service.ask(REQUEST)).toMatchObject({ status: 200 });

    await service.close();
    await start({ isPrivate: true });
    expect(await service.ask(refund)).toMatchObject({ status: 200 });
    expect(await service.ask(refund, { origin: 'https://example.com' })).toMatchObject({ status: 403 });
  });
});

async function textOf(socket: ReturnType<typeof connect>): Promise<string> {
  let text = '';
  for await (const chunk of socket) text += String(chunk);
  return text;
}
