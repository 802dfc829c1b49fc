import { describe, expect, it } from '@jest/globals';
import { byHeader, fixedWindow, rateLimit, type ThresholdEvent } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

describe.each(frameworks)('onThreshold on $version', ({ express }) => {
  it('is called once by the request that reaches the share of its limit, with what docs/guides/monitoring.md says', async () => {
    const told: ThresholdEvent[] = [];
    const app = express();
    app.use(
      rateLimit({
        name: 'api',
        policy: fixedWindow({ limit: 4, window: '1h' }),
        key: byHeader('x-account'),
        onThreshold: { at: [0.5], call: (event) => told.push(event) },
      }),
      (_request, response) => void response.end(),
    );
    const toldAfter: number[] = [];
    const statuses: number[] = [];
    for (let i = 0; i < 5; i++) {
      statuses.push((await request(app).get('/').set('X-Account', 'ann')).status);
      toldAfter.push(told.length);
    }

    expect(statuses).toEqual([200, 200, 200, 200, 429]);
    expect(toldAfter).toEqual([0, 1, 1, 1, 1]);
    expect(told).toEqual([
      {
        limiter: 'api',
        policy: 'api',
        key: 'ann',
        level: 0.5,
        used: 2,
        limit: 4,
        resetAfterMs: expect.any(Number),
        atMs: expect.any(Number),
      },
    ]);
  });
});
