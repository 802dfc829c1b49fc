import { describe, expect, it } from '@jest/globals';
import { byIp, fixedWindow, rateLimit, type RateLimitOptions } from '@sluice/koa';
import type { Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const fail = (): never => {
  throw new TypeError('of the user');
};
const failLater = async (): Promise<never> => {
  await new Promise(setImmediate);
  throw new TypeError('of the user');
};

const failing: readonly [string, Partial<RateLimitOptions>][] = [
  ['key', { key: fail }],
  ['one part of the key, later', { key: [byIp(), failLater] }],
  ['cost', { cost: fail }],
  ['policy, later', { policy: failLater }],
  ['skip', { skip: fail }],
  ['onDecision, later', { onDecision: failLater }],
  ['onDenied', { cost: 2, onDenied: fail }],
  ['onDenied, later', { cost: 2, onDenied: failLater }],
];

describe.each(frameworks)('on $version', ({ Koa }) => {
  const serve = useServers();
  /** An application with this limiter ahead of a handler, and those who hear of its errors. */
  const served = async (options: Partial<RateLimitOptions>, handle: Middleware = () => {}) => {
    const heard: unknown[] = [];
    const app = new Koa();
    app.on('error', (error) => heard.push(error));
    app.use(rateLimit({ policy, ...options } as RateLimitOptions));
    app.use(handle);
    return { heard, ...(await serve(app)) };
  };

  it.each(failing)('what a function of the user throws reaches Koa’s error handler: %s', async (_option, options) => {
    const { heard, ask } = await served(options);

    const { status } = await ask();

    expect(status).toBe(500);
    expect(heard).toEqual([new TypeError('of the user')]);
  });

  it.each(failing)('and can be caught by the middleware around it: %s', async (_option, options) => {
    const app = new Koa();
    app.use(async (ctx, next) => {
      try {
        await next();
      } catch (error) {
        ctx.status = 502;
        ctx.body = String(error);
      }
    });
    app.use(rateLimit({ policy, ...options } as RateLimitOptions));
    const { ask } = await serve(app);

    const { status, text } = await ask();

    expect([status, text]).toEqual([502, 'TypeError: of the user']);
  });

  it('what a handler throws passes through untouched', async () => {
    class Missing extends Error {
      readonly status = 404;
      readonly expose = true;
    }
    const { heard, ask } = await served({}, () => {
      throw new Missing('no such order');
    });

    const { status, text } = await ask();

    expect([status, text]).toEqual([404, 'no such order']);
    expect(heard).toEqual([expect.any(Missing)]);
  });
});
