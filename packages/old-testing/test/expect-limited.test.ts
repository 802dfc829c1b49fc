import { createServer, type Server } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, rateLimit, type HeadersOption } from '@sluice/express';
import sluice from '@sluice/fastify';
import { rateLimit as koaRateLimit } from '@sluice/koa';
import { expectLimited, fakeClock, type ExpectLimitedOptions, type TestedApp } from '@sluice/old-testing';
import express, { type Express } from 'express';
import fastify from 'fastify';
import Koa from 'koa';

const policy = fixedWindow({ limit: 3, window: '1m' });

function expressApp(options: Parameters<typeof rateLimit>[0] = { policy }): Express {
  const app = express();
  app.use('/limited', rateLimit(options));
  app.all('/limited', (_request, response) => void response.send('hello'));
  app.get('/free', (_request, response) => void response.send('hello'));
  app.get('/broken', () => {
    throw new Error('broken');
  });
  app.use(((_error, _request, response, _next) => void response.status(500).end()) as express.ErrorRequestHandler);
  return app;
}

/** What `Response`s would be without a limiter. */
const answer = (headers: Record<string, string>, status = 200): Response => new Response('hello', { status, headers });
const fields = { 'RateLimit-Policy': '"default";q=1;w=60', RateLimit: '"default";r=0;t=60' };

function threeTimes(): (request: Request) => Response {
  let left = 3;
  return ({ url }) =>
    new URL(url).pathname === '/limited' && left-- > 0
      ? answer(fields)
      : answer({ ...fields, 'Retry-After': '60' }, 429);
}

interface Bun {
  requestIP(): { readonly address: string };
}
interface Deno {
  readonly remoteAddr: { readonly hostname: string };
}
interface Node {
  readonly incoming: { readonly socket: { readonly remoteAddress: string } };
}

/** Limits the address that it reads from what servers pass beside a request. */
function withPeer<Beside>(
  read: (beside: Beside) => string,
): (request: Request, ...beside: readonly Beside[]) => Response {
  const limited = threeTimes();
  return (request, ...[beside]) =>
    beside !== undefined && read(beside) === '127.0.0.1' ? limited(request) : answer({}, 500);
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function messageOf(app: TestedApp, options: ExpectLimitedOptions): Promise<string> {
  const error: unknown = await expectLimited(app, options).then(
    () => new Error('nothing was thrown'),
    (reason: unknown) => reason,
  );
  return (error as Error).message;
}

describe('expectLimited passes for', () => {
  const listening = (): Promise<Server> =>
    new Promise((resolve) => {
      const server = createServer(expressApp()).listen(0, '127.0.0.1', () => {
        resolve(server);
      });
      servers.push(server);
    });
  const apps: readonly (readonly [string, () => TestedApp | Promise<TestedApp>])[] = [
    ['an Express application', () => expressApp()],
    ['a node:http server that does not listen', () => createServer(expressApp())],
    ['a node:http server that listens', listening],
    ['a URL', async () => `http://127.0.0.1:${String(((await listening()).address() as { port: number }).port)}`],
    [
      'a Koa application',
      () =>
        new Koa().use(koaRateLimit({ policy })).use((ctx) => {
          ctx.body = 'hello';
        }),
    ],
    [
      'a Fastify application',
      () => {
        const app = fastify();
        void app.register(sluice, { policy });
        app.after(() => app.get('/limited', () => 'hello'));
        return app;
      },
    ],
    ['a handler of fetch', () => threeTimes()],
    ['an object with fetch', () => ({ fetch: threeTimes() })],
    [
      'a handler of fetch that reads the address as on Bun',
      () => withPeer((server: Bun) => server.requestIP().address),
    ],
    ['a handler of fetch that reads the address as on Deno', () => withPeer((info: Deno) => info.remoteAddr.hostname)],
    ['an object with fetch, as Hono', () => ({ fetch: withPeer((env: Node) => env.incoming.socket.remoteAddress) })],
  ];

  it.each(apps)('%s', async (_name, appOf) => {
    const app = await appOf();

    const denial = await expectLimited(app, { path: '/limited', limit: 3 });

    expect(denial.status).toBe(429);
    expect(denial.headers.get('retry-after')).not.toBeNull();
  });

  it.each<[ExpectLimitedOptions['fields'], HeadersOption]>([
    ['draft-11', 'draft-11'],
    ['draft-7', 'draft-7'],
    ['draft-6', 'draft-6'],
    ['legacy', { legacy: 'epoch' }],
    [false, false],
  ])('fields of %s', async (format, headers) => {
    await expectLimited(expressApp({ policy, headers }), { path: '/limited', limit: 3, fields: format as 'legacy' });
  });

  it('a method, header fields and a body of the test, a limit of 0, and statuses of its own', async () => {
    const app = expressApp({ policy: fixedWindow({ limit: 0, window: '1m' }), status: { denied: 420 } });
    await expectLimited(app, { path: '/limited', limit: 0, deniedStatus: 420, retryAfter: false });

    const login = express();
    login.post('/login', express.json(), rateLimit({ name: 'login', policy }), (request, response) => {
      response.status((request.body as { user?: string }).user === 'ann' ? 401 : 400).end();
    });
    const denial = await expectLimited(login, {
      path: '/login',
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: '{"user":"ann"}',
      allowedStatus: 401,
      policy: 'login',
      limit: 3,
    });
    expect(JSON.parse(denial.body)).toMatchObject({ 'violated-policies': ['login'] });
  });

  it('the same application again, when the clock has moved, or after resetAll', async () => {
    const clock = fakeClock();
    const limiter = rateLimit({ policy, store: memoryStore({ clock }) });
    const app = express()
      .use(limiter)
      .get('/', (_request, response) => void response.send('hello'));

    await expectLimited(app, { limit: 3 });
    clock.advance(60_000);
    await expectLimited(app, { limit: 3 });
    await limiter.limiter.resetAll();
    await expectLimited(app, { limit: 3 });
  });
});

describe('expectLimited fails', () => {
  it('for a request that is denied too early', async () => {
    expect(await messageOf(expressApp(), { path: '/limited', limit: 5 })).toMatch(
      /^GET \/limited: exactly 5 requests should be allowed, but request 4 got 429, RateLimit: "default";r=0;t=60: only 3 were\. .*resetAll/,
    );
  });

  it('for a limit that is larger', async () => {
    expect(await messageOf(expressApp(), { path: '/limited', limit: 2 })).toMatch(
      /exactly 2 requests .* request 3 got 200, RateLimit: "default";r=0;t=60: 3 were\. The limit is larger/,
    );
  });

  it('for a route without a limit', async () => {
    expect(await messageOf(expressApp(), { path: '/free', limit: 2, fields: false })).toMatch(
      /request 3 got 200: 3 were\. It has no field of a limit: no limiter acts on this route/,
    );
    expect(await messageOf(expressApp(), { path: '/free', limit: 2 })).toMatch(
      /request 1 got 200: it has no field RateLimit-Policy, RateLimit\. .* no limiter acts on this route/,
    );
  });

  it('for handlers of another kind than it takes them for, and says how to pass them', async () => {
    const ofFetch = (_request: Request, _info: unknown): Response => new Response('hello');
    const throwing = (_request: unknown, _response: unknown): never => {
      throw new Error('broken');
    };

    expect(await messageOf(ofFetch as never, { limit: 1 })).toMatch(
      /request 1 got 500: .* it returned a Response\. Pass a handler of fetch as \{ fetch: handler \}/,
    );
    expect(await messageOf(throwing, { limit: 1 })).toMatch(/it threw Error: broken/);
    expect(await messageOf({ fetch: ofFetch }, { limit: 1, fields: false })).toMatch(/request 2 got 200/);
    expect(await messageOf(() => undefined, { limit: 1 })).toMatch(
      /takes this for a handler of fetch, which returns a Response, got undefined; a handler of node:http has two/,
    );
  });

  it.each([
    ['/gone', 404, /Cannot GET \/gone/],
    ['/broken', 500, /\(empty\)/],
  ])('for %s', async (path, status, body) => {
    const message = await messageOf(expressApp(), { path, limit: 2, fields: false });

    expect(message).toMatch(new RegExp(`request 1 got ${String(status)}: that is the answer of no limited route`));
    expect(message).toMatch(body);
  });

  it.each<[string, Record<string, string>, RegExp]>([
    ['no Retry-After', fields, /it has no field Retry-After/],
    ['a Retry-After of 0', { ...fields, 'Retry-After': '0' }, /not a whole number of seconds above 0: 0/],
    ['no r', { ...fields, RateLimit: '"default";t=60' }, /its policy "default" has no r: RateLimit: "default";t=60/],
    [
      'fields of another draft',
      { ...fields, RateLimit: 'limit=1, remaining=0' },
      /none of draft 11: RateLimit: limit=1/,
    ],
  ])('for a denial with %s', async (_name, headers, message) => {
    const handler = (_request: Request): Response => answer(headers, 429);

    expect(await messageOf(handler, { limit: 0 })).toMatch(message);
  });

  it('for another policy, or a Retry-After where none helps', async () => {
    expect(await messageOf(expressApp(), { path: '/limited', limit: 3, policy: 'login' })).toMatch(
      /does not name the policy "login": RateLimit-Policy: "default";q=3;w=60/,
    );
    expect(await messageOf(expressApp(), { path: '/limited', limit: 3, retryAfter: false })).toMatch(
      /it has Retry-After: 60, and none is expected/,
    );
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    ['no application', () => expectLimited(5 as never, { limit: 1 }), /takes an Express, Koa, .* got number/],
    ['no options', () => expectLimited(expressApp(), undefined as never), /takes \(app, \{ limit, path, \.\.\. \}\)/],
    ['no limit', () => expectLimited(expressApp(), {} as never), /limit must be a whole number/],
    ['no URL', () => expectLimited('localhost:3000', { limit: 1 }), /takes a URL such as http:.* got localhost:3000/],
    [
      'a misspelt option',
      () => expectLimited(expressApp(), { limit: 1, pth: '/' } as never),
      /no option pth; known: limit/,
    ],
    [
      'unknown fields',
      () => expectLimited(expressApp(), { limit: 1, fields: 'draft-8' as never }),
      /fields must be draft-11/,
    ],
  ])('at once for %s', async (_name, call, message) => {
    await expect(call()).rejects.toThrow(message);
  });
});
