import { describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit, type Decision, type RateLimitOptions } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '60s' });

describe.each(frameworks)('onDenied on $version', ({ express }) => {
  const refusedBy = async (options: Pick<RateLimitOptions, 'onDenied'>) => {
    const app = express();
    app.use(rateLimit({ policy, ...options }), (_request, response) => {
      response.end();
    });
    await request(app).get('/');
    return request(app).get('/');
  };

  it('writes the answer, after the fields have been set', async () => {
    let told: Decision | undefined;

    const answer = await refusedBy({
      onDenied: (req, response, decision) => {
        told = decision;
        response.status(420).json({ calm: req.rateLimit?.key });
      },
    });

    expect(answer.status).toBe(420);
    expect(answer.body).toEqual({ calm: '127.0.0.1' });
    expect(answer.headers).toMatchObject({
      'retry-after': '60',
      ratelimit: '"default";r=0;t=60',
      'cache-control': 'no-store',
    });
    expect(told).toMatchObject({ allowed: false, outcome: 'denied', retryAfterMs: expect.any(Number) as unknown });
  });

  it('answers with 429 when it says no status', async () => {
    const answer = await refusedBy({
      onDenied: (_request, response) => {
        response.send('slow down');
      },
    });

    expect(answer.status).toBe(429);
    expect(answer.text).toBe('slow down');
  });

  it('may take its time', async () => {
    const answer = await refusedBy({
      onDenied: async (_request, response) => {
        await new Promise(setImmediate);
        response.status(429).send('later');
      },
    });

    expect(answer.text).toBe('later');
  });

  it('is not asked about a request that is allowed', async () => {
    const app = express();
    let asked = 0;
    app.use(rateLimit({ policy, onDenied: () => asked++ }), (_request, response) => {
      response.end();
    });

    await request(app).get('/');

    expect(asked).toBe(0);
  });
});

describe.each(frameworks)('onDecision on $version', ({ express }) => {
  it('is told of every decision, with the key and the request', async () => {
    const told: unknown[] = [];
    const app = express();
    app.use(
      rateLimit({
        policy,
        onDecision: (decision, context) => {
          told.push([decision.outcome, context.key, context.request.path]);
        },
      }),
      (_request, response) => {
        response.end();
      },
    );

    await request(app).get('/a');
    await request(app).get('/b');

    expect(told).toEqual([
      ['allowed', '127.0.0.1', '/a'],
      ['denied', '127.0.0.1', '/b'],
    ]);
  });

  it('is told the key of each of several limits', async () => {
    const keys: unknown[] = [];
    const app = express();
    app.use(
      rateLimit({
        limits: [
          { name: 'per-ip', policy },
          { name: 'everybody', policy, key: () => 'all' },
        ],
        onDecision: (_decision, { key }) => {
          keys.push(key);
        },
      }),
    );

    await request(app).get('/');

    expect(keys).toEqual([{ 'per-ip': '127.0.0.1', everybody: 'all' }]);
  });
});
