import { describe, expect, it } from '@jest/globals';
import {
  fixedWindow,
  rateLimit,
  redisStore,
  type OnStoreError,
  type RateLimitOptions,
  type Store,
} from '@sluice/express';
import { startRedis } from '@sluice/testkit';
import { Redis } from 'ioredis';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { tellError } from './on-error.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });

const failing = (): Store => ({ source: 'redis', perform: async () => Promise.reject(new Error('connection lost')) });
const throwing = (): Store => ({
  source: 'redis',
  perform: () => {
    throw new Error('not ready');
  },
});
const hung = (): Store => ({ source: 'redis', perform: async () => new Promise(() => {}) });

describe.each(
  frameworks.flatMap((framework) => [
    { ...framework, failure: 'rejects', newStore: failing },
    { ...framework, failure: 'throws', newStore: throwing },
    { ...framework, failure: 'never answers', newStore: hung },
  ]),
)('on $version, when the store $failure', ({ express, newStore }) => {
  const appWith = (onStoreError: OnStoreError | undefined, options: Partial<RateLimitOptions> = {}) => {
    const app = express();
    app.use(
      rateLimit({
        policy,
        store: newStore(),
        timeoutMs: 1,
        ...(onStoreError === undefined ? {} : { onStoreError }),
        ...options,
      } as RateLimitOptions),
      (req, response) => {
        response.json({ outcome: req.rateLimit?.decision.outcome, source: req.rateLimit?.decision.source });
      },
    );
    app.use(tellError);
    return app;
  };

  it('"deny" answers 503 with problem details and without RateLimit fields (V15)', async () => {
    const answer = await request(appWith('deny')).get('/');

    expect(answer.status).toBe(503);
    expect(answer.headers).toMatchObject({ 'content-type': 'application/problem+json', 'cache-control': 'no-store' });
    expect(answer.text).toBe('{"type":"about:blank","title":"Service Unavailable","status":503}');
    for (const field of ['ratelimit', 'ratelimit-policy', 'retry-after'])
      expect(answer.headers).not.toHaveProperty(field);
  });

  it('"deny" with throw: true hands a 503 to the error handler', async () => {
    const answer = await request(appWith('deny', { throw: true })).get('/');

    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({ name: 'RateLimitError', code: 'SLUICE_DENIED' });
  });

  it('"deny" lets onDenied answer', async () => {
    const onDenied: RateLimitOptions['onDenied'] = (_request, response, { outcome }) => response.send(outcome);

    const answer = await request(appWith('deny', { onDenied })).get('/');

    expect(answer.status).toBe(503);
    expect(answer.text).toBe('unavailable');
  });

  it('"allow" passes without fields, and says so on the request (V14)', async () => {
    const app = appWith('allow');

    const answers = [await request(app).get('/'), await request(app).get('/')];

    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.body).toEqual({ outcome: 'unavailable', source: 'none' });
      for (const field of ['ratelimit', 'ratelimit-policy', 'retry-after'])
        expect(answer.headers).not.toHaveProperty(field);
    }
  });

  it('"throw" goes to the error handler, with a code', async () => {
    const answer = await request(appWith('throw')).get('/');

    expect(answer.status).toBe(500);
    expect(answer.body).toMatchObject({
      name: 'StoreError',
      code: expect.stringMatching(/^SLUICE_STORE_(FAILED|TIMEOUT)$/) as unknown,
    });
    expect(answer.headers).not.toHaveProperty('ratelimit');
  });

  it.each([
    ['"local"', 'local' as const],
    ['nothing said', undefined],
  ])('%s keeps limiting in this process', async (_said, mode) => {
    const app = appWith(mode);

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.body).toEqual({ outcome: 'allowed', source: 'local' });
    expect(answers[1]?.headers).toHaveProperty('ratelimit');
  });
});

describe.each(frameworks)('on $version, when Redis is gone', ({ express }) => {
  it.each<[OnStoreError, number[]]>([
    ['local', [200, 429]],
    ['allow', [200, 200]],
    ['deny', [503, 503]],
    ['throw', [500, 500]],
  ])('onStoreError: "%s" decides', async (onStoreError, expected) => {
    const server = await startRedis();
    const client = new Redis(server.url, { retryStrategy: () => null });
    client.on('error', () => {});
    const app = express();
    app.use(
      rateLimit({ limit: 1, window: '1h', store: redisStore(client), onStoreError, timeoutMs: 60_000 }),
      (_request, response) => {
        response.end();
      },
    );
    app.use(tellError);
    const before = [await request(app).get('/'), await request(app).get('/')];
    await server.stop();

    const after = [await request(app).get('/'), await request(app).get('/')];
    client.disconnect();

    expect(before.map(({ status }) => status)).toEqual([200, 429]);
    expect(after.map(({ status }) => status)).toEqual(expected);
  });
});
