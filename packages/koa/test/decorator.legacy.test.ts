import { describe, expect, it } from '@jest/globals';
import Router from '@koa/router';
import { RateLimit, fixedWindow, memoryStore } from '@sluice/koa';
import type { Context, Middleware } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

// Compiled as TypeScript's experimentalDecorators; decorator.test.ts holds the same for those of TC39.

const once = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('@RateLimit() under experimentalDecorators on $version', ({ Koa }) => {
  const serve = useServers();
  const served = async (handlers: Record<string, Middleware>) => {
    const router = new Router();
    for (const [path, handler] of Object.entries(handlers)) router.get(path, handler);
    const app = new Koa();
    app.use(router.routes());
    return serve(app);
  };

  it('limits an instance method, under the name of its class and its own', async () => {
    class Orders {
      readonly greeting = 'hello';
      @RateLimit({ policy: once })
      async list(ctx: Context): Promise<void> {
        await Promise.resolve();
        ctx.body = `${this.greeting} ${JSON.stringify(ctx.state.rateLimit?.key)}`;
      }
    }
    const orders = new Orders();
    const { ask } = await served({ '/': orders.list.bind(orders) });

    const answers = [await ask(), await ask()];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.text).toBe('hello "127.0.0.1"');
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"Orders.list";q=1;w=3600');
  });

  it('limits a handler that was taken off its object, and a static one', async () => {
    class Reports {
      @RateLimit({ policy: once })
      weekly(ctx: Context): void {
        ctx.body = typeof this;
      }

      @RateLimit({ policy: once })
      static daily(ctx: Context): void {
        ctx.body = 'daily';
      }
    }
    const { ask } = await served({ '/weekly': new Reports().weekly, '/daily': Reports.daily });

    const answers = [await ask('/weekly'), await ask('/weekly'), await ask('/daily'), await ask('/daily')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429, 200, 429]);
    expect(answers[0]?.text).toBe('undefined');
    expect(answers[2]?.headers.get('ratelimit-policy')).toBe('"Reports.daily";q=1;w=3600');
  });

  it('fails when the class is defined, for a bad option and for a name that is taken on the store', () => {
    const store = memoryStore();
    const define = (options: object) => () => {
      class Orders {
        @RateLimit({ policy: once, store, ...options })
        list(ctx: Context): void {
          ctx.body = 'list';
        }
      }
      return Orders;
    };

    expect(define({ windowMs: 1 })).toThrow(expect.objectContaining({ name: 'PolicyError', field: 'windowMs' }));
    expect(define({})).not.toThrow();
    expect(define({})).toThrow(expect.objectContaining({ code: 'SLUICE_LIMITER_NAME_TAKEN' }));
  });
});
