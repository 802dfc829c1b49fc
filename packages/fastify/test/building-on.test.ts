import { afterEach, describe, expect, it } from '@jest/globals';
import { answer } from '@sluice/old-http/spi';
import sluice, { fixedWindow, framework, type Policy } from '@sluice/fastify';
import Fastify, { type FastifyInstance } from 'fastify';
import { answersOf, one, ten } from './requests.ts';

let app: FastifyInstance;
const { record } = framework;
afterEach(async () => {
  framework.record = record;
  await app.close();
});
const create = async (): Promise<FastifyInstance> => {
  app = Fastify();
  await app.register(sluice);
  return app;
};

describe('building on the adapter of Fastify 5', () => {
  it('can decide first and write the response later', async () => {
    const limit = (await create()).rateLimit({ policy: one });
    app.get('/a', async (request, reply) => {
      const plan = await limit.enforce(request, reply);
      const before = Object.keys(reply.getHeaders());
      return (await answer(framework, plan, request, reply)) ? { before } : reply;
    });

    const answers = await answersOf(app, ['/a', '/a']);

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(await answers[0]?.json()).toEqual({ before: [] });
    expect(answers[1]?.headers.get('ratelimit')).toContain('r=0');
  });

  it('can record the decision in another place, of routes and hooks', async () => {
    await create();
    framework.record = (request, { decision }) => {
      Object.assign(request, { quota: decision.remaining });
    };
    const show = (request: object) => ({ quota: (request as { quota?: number }).quota });
    app.get('/a', { config: { rateLimit: { policy: ten } } }, show);
    app.get('/b', { onRequest: app.rateLimit({ policy: ten }) }, show);

    const answers = await answersOf(app, ['/a', '/b']);

    expect(await Promise.all(answers.map(async (one) => one.json()))).toEqual([{ quota: 9 }, { quota: 9 }]);
  });

  it('can reset what a request uses where a function picks the policy', async () => {
    const limit = (await create()).rateLimit({
      policy: (): Policy => fixedWindow({ name: 'free', limit: 1, window: '1h' }),
    });
    app.get('/a', { onRequest: limit }, async (request) => {
      const limiter = await limit.limiterFor(request);
      await limiter.reset(await limit.keyFor(request));
      return 'ok';
    });

    const answers = await answersOf(app, ['/a', '/a', '/a']);

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
