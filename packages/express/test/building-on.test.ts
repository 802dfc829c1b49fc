import { afterEach, describe, expect, it } from '@jest/globals';
import { answer, createEnforcer } from '@sluice/old-http/spi';
import type { RateLimitInfo } from '@sluice/old-http';
import { fixedWindow, framework, rateLimit, type Policy } from '@sluice/express';
import type { Request } from 'express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const { record } = framework;
afterEach(() => {
  framework.record = record;
});

describe.each(frameworks)('building on the adapter of $version', ({ express }) => {
  it('can decide first and write the response later', async () => {
    const app = express();
    const limit = rateLimit({ policy });
    app.get('/', async (req, res) => {
      const plan = await limit.enforce(req, res);
      const before = res.getHeaderNames().filter((name) => name.includes('ratelimit'));
      if (await answer(framework, plan, req, res)) res.json({ before, status: res.statusCode });
    });

    const answers = [await request(app).get('/'), await request(app).get('/')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.body).toEqual({ before: [], status: 200 });
    expect(answers[1]?.headers['ratelimit']).toContain('"default";r=0');
  });

  it('can record the decision in another place, for all middleware or its own', async () => {
    const app = express();
    const recorded: unknown[] = [];
    framework.record = (req: Request, info: RateLimitInfo) => {
      recorded.push(info.key);
      Object.assign(req, { quota: info.decision.remaining });
    };
    const { enforcer } = createEnforcer({ name: 'own', policy }, { ...framework, record: () => recorded.push('own') });
    app.get('/', rateLimit({ policy }), (req, res, next) => {
      enforcer.limitThen(req, res, next);
    });
    app.get('/', (req, res) => {
      res.json({ quota: (req as { quota?: number }).quota, rateLimit: req.rateLimit });
    });

    const answered = await request(app).get('/');

    expect(answered.body).toEqual({ quota: 0 });
    expect(recorded).toEqual([expect.stringContaining('127.0.0.1'), 'own']);
  });

  it('can reset what a request uses where a function picks the policy', async () => {
    const app = express();
    const limit = rateLimit({ policy: (): Policy => fixedWindow({ name: 'free', limit: 1, window: '1h' }) });
    app.get('/', limit, async (req, res) => {
      const limiter = await limit.limiterFor(req);
      await limiter.reset(await limit.keyFor(req));
      res.end();
    });

    const statuses = [];
    for (let i = 0; i < 3; i++) statuses.push((await request(app).get('/')).status);

    expect(statuses).toEqual([200, 200, 200]);
  });
});
