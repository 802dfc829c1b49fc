import { afterEach, describe, expect, it } from '@jest/globals';
import { answer } from '@sluice/old-http/spi';
import type { RateLimitInfo } from '@sluice/old-http';
import { fixedWindow, framework, rateLimit, type Policy } from '@sluice/koa';
import type { ParameterizedContext } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const { record } = framework;
afterEach(() => {
  framework.record = record;
});

describe.each(frameworks)('building on the adapter of $version', ({ Koa }) => {
  const serve = useServers();

  it('can decide first and write the response later', async () => {
    const app = new Koa();
    const limit = rateLimit({ policy });
    app.use(async (ctx) => {
      const plan = await limit.enforce(ctx);
      const before = ctx.res.getHeaderNames();
      if (await answer(framework, plan, ctx, ctx)) {
        ctx.body = { before };
      }
    });
    const { ask } = await serve(app);

    const answers = [await ask(), await ask()];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.text).toBe('{"before":[]}');
    expect(answers[1]?.headers.get('ratelimit')).toContain('"default";r=0');
  });

  it('can record the decision in another place', async () => {
    const app = new Koa();
    framework.record = (ctx: ParameterizedContext, { decision }: RateLimitInfo) => {
      (ctx.state as { quota?: number }).quota = decision.remaining;
    };
    app.use(rateLimit({ policy }));
    app.use((ctx) => {
      ctx.body = ctx.state as object;
    });
    const { ask } = await serve(app);

    expect((await ask()).text).toBe('{"quota":0}');
  });

  it('can reset what a request uses where a function picks the policy', async () => {
    const app = new Koa();
    const limit = rateLimit({ policy: (): Policy => fixedWindow({ name: 'free', limit: 1, window: '1h' }) });
    app.use(limit);
    app.use(async (ctx) => {
      const limiter = await limit.limiterFor(ctx);
      await limiter.reset(await limit.keyFor(ctx));
      ctx.body = 'ok';
    });
    const { ask } = await serve(app);

    expect([await ask(), await ask(), await ask()].map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
