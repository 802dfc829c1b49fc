import { afterEach, describe, expect, it } from '@jest/globals';
import { exchange, expectWarnings, fakeClock, startRedis, statuses } from '@sluice/testkit';
import { memoryStore, redisStore } from '@sluice/old-core';
import { AuthService, detailOf, type AuthServiceOptions } from './auth-service.ts';

expectWarnings('SLUICE_PROXY_NOT_TRUSTED');

const api = `
forward_auth:
  trusted_proxies: [127.0.0.1]
  rules:
    - { name: api, match: { paths: ['/api/*'] }, policy: { fixedWindow: { limit: 2, window: 1m } } }
`;

const started: AuthService[] = [];

async function start(written: string = api, options: AuthServiceOptions = {}): Promise<AuthService> {
  const auth = await AuthService.start(written, options);
  started.push(auth);
  return auth;
}

afterEach(async () => {
  await Promise.all(started.splice(0).map(async (auth) => auth.close()));
});

describe('an answer to a gateway', () => {
  it('is 200 with the fields of the limit while it allows', async () => {
    const auth = await start();

    const { status, headers, body } = await auth.ask();

    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'ratelimit-policy': '"api";q=2;w=60',
      ratelimit: '"api";r=1;t=60',
      'content-length': '0',
    });
    expect(body).toBe('');
  });

  it('is 429 with the fields, the wait and a problem once the limit is reached', async () => {
    const clock = fakeClock();
    const auth = await start(api, { store: memoryStore({ clock }) });
    await auth.statuses(2);
    clock.advance(500);

    const { status, headers, body } = await auth.ask();

    expect(status).toBe(429);
    expect(headers).toMatchObject({
      'ratelimit-policy': '"api";q=2;w=60',
      ratelimit: '"api";r=0;t=60',
      'retry-after': '60',
      'cache-control': 'no-store',
      'content-type': 'application/problem+json',
      'content-length': String(body.length),
    });
    expect(headers).not.toHaveProperty('transfer-encoding');
    expect(JSON.parse(body)).toEqual({
      type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
      title: 'Quota Exceeded',
      status: 429,
      detail: 'The limit api is used up. Try again in 60 seconds.',
      'violated-policies': ['api'],
    });
  });

  it('is 200 without fields where no rule matches', async () => {
    const auth = await start();

    const { status, headers } = await auth.ask({ target: '/other' });

    expect(status).toBe(200);
    expect(headers).not.toHaveProperty('ratelimit');
    expect(headers).not.toHaveProperty('ratelimit-policy');
  });

  it.each(['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'OPTIONS'])(
    'is the same whatever the gateway asks with: %s',
    async (method) => {
      const auth = await start();
      const to = { method };

      const answers = [await auth.ask({ to }), await auth.ask({ to }), await auth.ask({ to })];

      expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
      expect(answers[2]?.headers['retry-after']).toBe('60');
      expect(answers[2]?.body === '').toBe(method === 'HEAD');
    },
  );

  it('does not wait for a body, and keeps the connection', async () => {
    const auth = await start();
    const asked = (fields: string, body: string): string =>
      `POST /auth HTTP/1.1\r\nHost: sluice\r\nX-Forwarded-Uri: /api/1\r\nX-Forwarded-Method: POST\r\nX-Forwarded-For: 203.0.113.1\r\n${fields}\r\n\r\n${body}`;

    const answers = await exchange(
      auth.port,
      asked('Content-Length: 5', 'hello') +
        asked('Transfer-Encoding: chunked', '5\r\nhello\r\n0\r\n\r\n') +
        asked('Content-Length: 100000\r\nConnection: close', 'x'.repeat(100_000)),
    );

    expect(statuses(answers)).toEqual([200, 200, 429]);
  });

  it('is that of a policy that delays after the delay', async () => {
    // By this clock all six arrive at once, however long the machine takes for them.
    const auth = await start(
      api.replace('fixedWindow: { limit: 2, window: 1m }', 'leakyBucket: { limit: 20, window: 1s, maxDelay: 100ms }'),
      { store: memoryStore({ clock: fakeClock() }) },
    );

    const answers = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const askedAtMs = performance.now();
        const { status } = await auth.ask();
        return { status, waitedMs: performance.now() - askedAtMs };
      }),
    );
    const waited = answers.filter(({ status }) => status === 200).map(({ waitedMs }) => waitedMs);
    const [, second, third] = waited.sort((a, b) => a - b);

    expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429]);
    expect(second).toBeGreaterThanOrEqual(50);
    expect(third).toBeGreaterThanOrEqual(100);
  });
});

describe('while Redis is away', () => {
  it.each([
    ['local', [200, 200, 429]],
    ['allow', [200, 200, 200]],
    ['deny', [503, 503, 503]],
    ['throw', [503, 503, 503]],
  ] as const)('onStoreError decides: %s', async (onStoreError, expected) => {
    const redis = await startRedis();
    const auth = await start(api, { store: redisStore(redis.url, { prefix: 'sluice' }), onStoreError });
    expect((await auth.ask({ address: '203.0.113.9' })).status).toBe(200);
    await redis.stop();

    const answers = [await auth.ask(), await auth.ask(), await auth.ask()];

    expect(answers.map(({ status }) => status)).toEqual(expected);
    for (const { status, headers } of answers) {
      if (status !== 503) continue;
      expect(headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
      expect(headers).not.toHaveProperty('ratelimit');
    }
  });
});

describe('a configuration that is loaded again', () => {
  it('applies to the next request, and keeps what was counted', async () => {
    const auth = await start();
    const before = await auth.statuses(2);
    auth.reload(api.replace('limit: 2', 'limit: 3'));

    expect([...before, ...(await auth.statuses(2))]).toEqual([200, 200, 200, 429]);
  });

  it('may have other proxies, other rules, or none', async () => {
    const auth = await start();

    auth.reload(api.replace("'/api/*'", '/other'));
    const otherRules = [...(await auth.statuses(3)), ...(await auth.statuses(3, { target: '/other' }))];
    auth.reload(api.replace('127.0.0.1', '127.0.0.2'));
    const otherProxies = await auth.ask();
    auth.reload('domain: edge\ndescriptors: []');
    const none = await auth.ask();

    expect(otherRules).toEqual([200, 200, 200, 200, 200, 429]);
    expect(otherProxies.status).toBe(403);
    expect(none.status).toBe(404);
    expect(detailOf(none.body)).toBe('the configuration has no forward_auth');
  });

  it('does not change what is being decided', async () => {
    const redis = await startRedis();
    const auth = await start(api, { store: redisStore(redis.url, { prefix: 'sluice' }) });

    const asked = Array.from({ length: 20 }, async () => auth.ask());
    auth.reload(api.replace('limit: 2', 'limit: 3'));
    const answers = [...(await Promise.all(asked)), await auth.ask()];

    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(3);
    expect(answers.every(({ status }) => status === 200 || status === 429)).toBe(true);
    await auth.close();
    started.pop();
    await redis.stop();
  });
});
