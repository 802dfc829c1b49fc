import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, rateLimit } from '@sluice/express';
import request from 'supertest';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 4, window: '1h' });

describe.each(frameworks)('on $version', ({ express }) => {
  it('one limiter that is mounted twice counts a request once, and writes its fields once', async () => {
    const app = express();
    const limiter = rateLimit({ policy });
    const router = express.Router();
    router.use(limiter);
    router.get('/', limiter, (_request, response) => {
      response.end();
    });
    app.use(limiter, limiter);
    app.use('/', router);

    const answer = await request(app).get('/');

    expect(answer.headers['ratelimit']).toBe('"default";r=3;t=3600');
  });

  it('two limiters count a request once each', async () => {
    const app = express();
    const store = memoryStore();
    app.use(rateLimit({ name: 'a', policy, store }), rateLimit({ name: 'b', policy, store }), (_request, response) => {
      response.end();
    });

    const answer = await request(app).get('/');

    expect(answer.headers['ratelimit']).toBe('"a";r=3;t=3600, "b";r=3;t=3600');
  });

  it('two limiters that share a name on a store count against one budget', async () => {
    const app = express();
    const store = memoryStore();
    app.use(rateLimit({ policy, store, shared: true }), rateLimit({ policy, store, shared: true }), (req, response) => {
      response.json(req.rateLimit?.decision.remaining);
    });

    const answer = await request(app).get('/');

    expect(answer.body).toBe(2);
  });

  it('two limiters of one name on one store are denied where they do not say that they share it', () => {
    const store = memoryStore();
    rateLimit({ policy, store });

    expect(() => rateLimit({ policy, store })).toThrow(expect.objectContaining({ code: 'SLUICE_LIMITER_NAME_TAKEN' }));
  });
});
