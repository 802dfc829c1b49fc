import { once } from 'node:events';
import { connect, createServer } from 'node:http2';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import Router from '@koa/router';
import { RateLimit, byRoute, fixedWindow, rateLimit } from '@sluice/koa';
import { gate, useServers, useWarnings } from '@sluice/testkit';
import type Koa from 'koa';
import type { Context, Middleware, Next } from 'koa';
import { frameworks } from './frameworks.ts';

const policy = fixedWindow({ limit: 1, window: '1h' });
const DENIED = /^\{"type":"https:\/\/iana\.org\/assignments\/http-problem-types#quota-exceeded"/;
const tell: Middleware = (ctx) => {
  ctx.body = ctx.state.rateLimit?.key ?? 'handled';
};

describe.each(frameworks)('on $version', ({ Koa: Application }) => {
  const [serve, warnings] = [useServers(), useWarnings()];
  const served = async (...middleware: readonly Middleware[]) => {
    const app = new Application();
    for (const one of middleware) app.use(one);
    return serve(app.callback());
  };

  it.each<[string, (ctx: Koa.Context) => void]>([
    ['a page', (ctx) => (ctx.body = '<p>Please wait.</p>')],
    ['a stream', (ctx) => (ctx.body = new PassThrough())],
    ['an object', (ctx) => (ctx.body = {})],
    ['no content', (ctx) => (ctx.status = 204)],
  ])('a denial replaces %s that was prepared before', async (_what, prepare) => {
    const before: Middleware = async (ctx, next) => {
      prepare(ctx);
      await next();
    };
    const { ask } = await served(before, rateLimit({ policy, cost: 2 }), tell);

    const { status, headers, body } = await ask();
    const head = await ask('HEAD /');

    expect(status).toBe(429);
    expect(body).toMatch(DENIED);
    expect(headers['content-type']).toBe('application/problem+json');
    const length = String(body.length);
    expect([headers, head.headers].map((of) => of['content-length'])).toEqual([length, length]);
  });

  it('a denial is sent if Koa was told not to respond', async () => {
    const bypass: Middleware = async (ctx, next) => {
      ctx.respond = false;
      await next();
    };
    const byHand: Middleware = ({ res }) => {
      res.statusCode = 200;
      res.end('by hand');
    };
    const { ask } = await served(bypass, rateLimit({ policy }), byHand);

    expect([(await ask()).body, (await ask()).body]).toEqual(['by hand', expect.stringMatching(DENIED)]);
  });

  it('a stream of HTTP/2 that is reset while its limit is decided reaches no handler', async () => {
    const [begun, decided] = [gate(), gate()];
    const handled: string[] = [];
    const key = async () => {
      begun.open();
      await decided.opened;
      return 'k';
    };
    const app = new Application().use(rateLimit({ policy, key })).use((ctx) => void handled.push(ctx.url));
    const { port } = await serve(createServer(app.callback()));
    const session = connect(`http://127.0.0.1:${String(port)}`);
    const stream = session.request({ ':path': '/left' }).on('error', () => undefined);
    const closed = once(stream, 'close');
    await begun.opened;
    stream.close(8);
    await closed;
    await new Promise((resolve) => void session.ping(resolve));

    decided.open();
    await new Promise((resolve) => void session.ping(resolve));
    session.destroy();

    expect(handled).toEqual([]);
  });

  it('counts the client that a trusted proxy names, and warns of a setting by which clients choose', async () => {
    const headers = { 'X-Forwarded-For': '6.6.6.6, 203.0.113.9', 'X-Real-IP': '203.0.113.9' };
    const keyUnder = async (settings: object): Promise<string> => {
      const app = Object.assign(new Application(), settings);
      return (await (await serve(app.use(rateLimit({ policy })).use(tell).callback())).ask('/', { headers })).body;
    };

    expect(await keyUnder({ proxy: true, maxIpsCount: 1 })).toBe('203.0.113.9');
    expect(await keyUnder({ proxy: true, proxyIpHeader: 'X-Real-IP' })).toBe('203.0.113.9');
    expect(warnings()).toEqual([]);
    expect(await keyUnder({ proxy: true })).toBe('6.6.6.6');
    expect(['SLUICE_PROXY_TRUSTS_ALL', undefined]).toContain(warnings()[0]?.code); // once for both versions
  });

  it('@RateLimit() limits a method that is middleware, passes next, and knows the template of its route', async () => {
    class Orders {
      readonly greeting = 'hello';

      @RateLimit({ policy, key: byRoute() })
      async find(ctx: Context, next: Next): Promise<void> {
        ctx.set('X-Greeting', this.greeting);
        await next();
      }
    }
    const orders = new Orders();
    const { ask } = await served(
      new Router().get('/orders/:id', orders.find.bind(orders), tell).routes() as Middleware,
    );

    const [first, second] = [await ask('/orders/1'), await ask('/orders/2')];

    expect([first.body, first.headers['x-greeting']]).toEqual(['/orders/:id', 'hello']);
    expect([second.status, second.headers['x-greeting']]).toEqual([429, undefined]);
  });
});
