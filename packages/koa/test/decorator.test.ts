import { describe, expect, it } from '@jest/globals';
import Router from '@koa/router';
import { RateLimit, byRoute, fixedWindow, memoryStore } from '@sluice/koa';
import type { Context, Middleware, Next } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

// Decorators as TC39 has them; decorator.legacy.test.ts holds the same for TypeScript's experimentalDecorators.

const once = fixedWindow({ limit: 1, window: '1h' });

describe.each(frameworks)('@RateLimit() on $version', ({ Koa }) => {
  const serve = useServers();
  const served = async (handlers: Record<string, Middleware>) => {
    const router = new Router();
    for (const [path, handler] of Object.entries(handlers)) router.get(path, handler);
    const app = new Koa();
    app.silent = true;
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
    expect(answers[1]?.text).toContain('"violated-policies":["Orders.list"]');
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

  it('gives two methods budgets of their own on one store', async () => {
    const store = memoryStore();
    class Orders {
      @RateLimit({ policy: once, store })
      list(ctx: Context): void {
        ctx.body = 'list';
      }

      @RateLimit({ policy: once, store })
      find(ctx: Context): void {
        ctx.body = 'find';
      }
    }
    const orders = new Orders();
    const { ask } = await served({ '/list': orders.list, '/find': orders.find });

    const answers = [await ask('/list'), await ask('/find'), await ask('/list')];

    expect(answers.map(({ status }) => status)).toEqual([200, 200, 429]);
  });

  it('limits a method that is middleware, and hands it next', async () => {
    class Audit {
      @RateLimit({ policy: once })
      async note(ctx: Context, next: Next): Promise<void> {
        ctx.set('X-Noted', 'yes');
        await next();
      }
    }
    const audit = new Audit();
    const app = new Koa();
    app.use(audit.note.bind(audit));
    app.use((ctx) => {
      ctx.body = 'handled';
    });
    const { ask } = await serve(app);

    const answers = [await ask(), await ask()];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.text).toBe('handled');
    expect(answers.map(({ headers }) => headers.get('x-noted'))).toEqual(['yes', null]);
  });

  it('knows the template of the route that the method handles', async () => {
    class Orders {
      @RateLimit({ policy: once, key: byRoute() })
      find(ctx: Context): void {
        ctx.body = ctx.state.rateLimit?.key;
      }
    }
    const { ask } = await served({ '/orders/:id': new Orders().find });

    const answers = [await ask('/orders/1'), await ask('/orders/2')];

    expect(answers.map(({ status }) => status)).toEqual([200, 429]);
    expect(answers[0]?.text).toBe('/orders/:id');
  });

  it('leaves to Koa what the method throws, and what a function of the options throws', async () => {
    class Orders {
      @RateLimit({ policy: once })
      async list(): Promise<void> {
        await Promise.reject(Object.assign(new Error('of the handler'), { status: 418, expose: true }));
      }

      @RateLimit({
        policy: once,
        key: () => {
          throw Object.assign(new Error('of the key'), { status: 418, expose: true });
        },
      })
      find(ctx: Context): void {
        ctx.body = 'found';
      }
    }
    const orders = new Orders();
    const { ask } = await served({ '/list': orders.list, '/find': orders.find });

    const answers = [await ask('/list'), await ask('/find')];

    expect(answers.map(({ status, text }) => [status, text])).toEqual([
      [418, 'of the handler'],
      [418, 'of the key'],
    ]);
  });

  it('fails when the class is defined, for a bad option', () => {
    const define = () => {
      class Orders {
        @RateLimit({ policy: once, windowMs: 1 } as never)
        list(ctx: Context): void {
          ctx.body = 'list';
        }
      }
      return Orders;
    };

    expect(define).toThrow(expect.objectContaining({ name: 'PolicyError', field: 'windowMs' }));
  });
});
