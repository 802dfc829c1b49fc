import { describe, expect, it } from '@jest/globals';
import { fixedWindow, rateLimit, type RateLimitOptions } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '60s' });

describe.each(frameworks)('onDenied on $version', ({ express }) => {
  const deniedBy = async (options: Pick<RateLimitOptions, 'onDenied'>) => {
    const app = express();
    app.use(rateLimit({ policy, ...options }), (_request, response) => {
      response.end();
    });
    await request(app).get('/');
    return request(app).get('/');
  };

  it('answers with 429 when it says no status', async () => {
    const answer = await deniedBy({
      onDenied: (_request, response) => {
        response.send('slow down');
      },
    });

    expect(answer.status).toBe(429);
    expect(answer.text).toBe('slow down');
  });
});
