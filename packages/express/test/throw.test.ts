import { describe, expect, it } from '@jest/globals';
import { RateLimitError, fixedWindow, memoryStore, rateLimit } from '@sluice/express';
import { fakeClock } from '@sluice/testkit';
import type { ErrorRequestHandler } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';
import { onError } from './on-error.ts';

const policy = fixedWindow({ limit: 1, window: '60s' });

describe.each(frameworks)('throw: true on $version', ({ express }) => {
  const appWith = (errorHandler?: ErrorRequestHandler) => {
    const app = express();
    app.use(rateLimit({ policy, throw: true, store: memoryStore({ clock: fakeClock() }) }), (_request, response) => {
      response.end();
    });
    if (errorHandler !== undefined) app.use(errorHandler);
    return app;
  };

  it('hands a denial to the error handler: status, code, headers, decision, and the key on the request', async () => {
    let handed: unknown;
    const app = appWith(
      onError((error, req, response) => {
        handed = error;
        response.status(418).json(req.rateLimit?.key);
      }),
    );
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.status).toBe(418);
    expect(answer.body).toBe('127.0.0.1');
    expect(handed).toBeInstanceOf(RateLimitError);
    expect(handed).toMatchObject({
      name: 'RateLimitError',
      code: 'SLUICE_DENIED',
      status: 429,
      statusCode: 429,
      expose: true,
      headers: {
        'RateLimit-Policy': '"default";q=1;w=60',
        RateLimit: '"default";r=0;t=60',
        'Retry-After': '60',
        'Cache-Control': 'no-store',
      },
      decision: { allowed: false, policy: 'default' },
    });
  });

  it('leaves the fields on the answer of the error handler', async () => {
    const app = appWith(
      onError((_error, _request, response) => {
        response.status(429).send('custom');
      }),
    );
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.headers).toMatchObject({
      ratelimit: '"default";r=0;t=60',
      'retry-after': '60',
      'cache-control': 'no-store',
    });
  });

  it('keeps the fields of a limiter that came before, with the default error handler too', async () => {
    const store = memoryStore({ clock: fakeClock() });
    const app = express();
    app.use(rateLimit({ name: 'outer', limit: 9, window: '60s', store }));
    app.use(rateLimit({ name: 'inner', policy, throw: true, store }));
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.status).toBe(429);
    expect(answer.headers['ratelimit-policy']).toBe('"outer";q=9;w=60, "inner";q=1;w=60');
    expect(answer.headers['ratelimit']).toMatch(/^"outer";r=7;t=\d+, "inner";r=0;t=60$/);
  });

  it('says in the error that a request had no key', async () => {
    const app = express();
    app.use(rateLimit({ policy, throw: true, key: () => undefined }));
    app.use(
      onError((error, _request, response) => {
        response.status((error as Error & { status: number }).status).json(error);
      }),
    );

    const answer = await request(app).get('/');

    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'SLUICE_DENIED', status: 403 });
  });

  it('never puts the key into the error', async () => {
    const app = express();
    app.use(rateLimit({ policy, throw: true, key: () => 'secret-key' }));
    app.use(
      onError((error, _request, response) => {
        response.json({ written: JSON.stringify(error), message: error.message });
      }),
    );
    await request(app).get('/');

    const answer = await request(app).get('/');

    expect(answer.text).toContain('Too many requests');
    expect(answer.text).not.toContain('secret-key');
  });
});
