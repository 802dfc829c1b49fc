import { describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('skip on $version', ({ express }) => {
  it.each([
    ['sync', (req: { get(name: string): string | undefined }) => req.get('x-health') === 'yes'],
    ['async', async (req: { get(name: string): string | undefined }) => Promise.resolve(req.get('x-health') === 'yes')],
  ])('(%s) passes a request without counting it and without fields', async (_kind, skip) => {
    const app = express();
    app.use(rateLimit({ policy, skip }), (req, response) => {
      response.json({ limited: req.rateLimit !== undefined });
    });

    const skipped = [
      await request(app).get('/').set('X-Health', 'yes'),
      await request(app).get('/').set('X-Health', 'yes'),
    ];
    const counted = [await request(app).get('/'), await request(app).get('/')];

    for (const { status, headers, body } of skipped) {
      expect(status).toBe(200);
      expect(body).toEqual({ limited: false });
      expect(headers).not.toHaveProperty('ratelimit');
      expect(headers).not.toHaveProperty('ratelimit-policy');
    }
    expect(counted.map(({ status }) => status)).toEqual([200, 429]);
  });

  it('asks for no key, cost or policy of a request that it passes', async () => {
    const app = express();
    const unasked = (): never => {
      throw new Error('asked');
    };
    app.use(rateLimit({ policy: unasked, key: unasked, cost: unasked, skip: () => true }), (_request, response) => {
      response.end();
    });

    const answer = await request(app).get('/');

    expect(answer.status).toBe(200);
  });
});
