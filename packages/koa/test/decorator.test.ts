import { describe, expect, it } from '@jest/globals';
import Router from '@koa/router';
import { RateLimit, byRoute, fixedWindow } from '@sluice/koa';
import type { Context, Middleware, Next } from 'koa';
import { frameworks } from './frameworks.ts';
import { useServers } from './serve.ts';

// The decorator is that of Express, whose tests have more; here is how Koa calls it.

const once = fixedWindow({ limit: 1, window: '1h' });
const failing = () => {
  throw Object.assign(new Error('of the user'), { status: 418, expose: true });
};

describe.each(frameworks)('@RateLimit() on $version', ({ Koa }) => {
  const serve = useServers();
  const served = async (handler: Middleware, ...more: readonly Middleware[]) => {
    const app = Object.assign(new Koa(), { silent: true });
    app.use(new Router().get('/orders/:id', handler, ...more).routes());
    return serve(app);
  };

  it('limits a method that is middleware, passes next, and knows the template of its route', async () => {
    class Orders {
      readonly greeting = 'hello';

      @RateLimit({ policy: once, key: byRoute() })
      async find(ctx: Context, next: Next): Promise<void> {
        ctx.set('X-Greeting', this.greeting);
        await next();
      }
    }
    const orders = new Orders();
    const { ask } = await served(orders.find.bind(orders), (ctx) => {
      ctx.body = ctx.state.rateLimit?.key;
    });

    const [first, second] = [await ask('/orders/1'), await ask('/orders/2')];

    expect([first.text, first.headers.get('x-greeting')]).toEqual(['/orders/:id', 'hello']);
    expect(first.headers.get('ratelimit-policy')).toBe('"Orders.find";q=1;w=3600');
    expect([second.status, second.headers.get('x-greeting')]).toEqual([429, null]);
  });

  it('leaves to Koa what the method and a function of the options throw', async () => {
    class Orders {
      @RateLimit({ policy: once })
      async list(_ctx: Context): Promise<void> {
        await Promise.resolve().then(failing);
      }

      @RateLimit({ policy: once, key: failing })
      find(ctx: Context): void {
        ctx.body = 'found';
      }
    }
    const { list, find } = new Orders();

    for (const handler of [list, find]) {
      expect(await (await served(handler)).ask('/orders/1')).toMatchObject({ status: 418, text: 'of the user' });
    }
  });
});
