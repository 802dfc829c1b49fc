import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { useClosing } from '@sluice/testkit';
import { createLimiter, fixedWindow, memoryStore } from '../../src/index.ts';
import { expectLimited, fakeClock, type ExpectLimitedOptions, type TestedApp } from '../../src/testing/index.ts';

const FIELDS = { 'RateLimit-Policy': '"default";q=3;w=60', RateLimit: '"default";r=0;t=60' };

function answer(status: number, headers: Record<string, string> = {}): Response {
  return new Response(status === 200 ? 'hello' : '', { status, headers });
}

/** Allows three requests. */
function threeTimes(): (request: Request) => Response {
  let left = 3;
  return () => (left-- > 0 ? answer(200, FIELDS) : answer(429, { ...FIELDS, 'Retry-After': '60' }));
}

/** A handler of `node:http` that answers as one of fetch does. */
function forNode(
  handler: (request: Request) => Response,
): (request: IncomingMessage, response: ServerResponse) => void {
  return ({ url }, response) => {
    const { status, headers } = handler(new Request(new URL(url ?? '/', 'http://localhost')));
    response.writeHead(status, Object.fromEntries(headers)).end();
  };
}

const resolved = (): Promise<void> => Promise.resolve();
const asNest = (limited: ReturnType<typeof threeTimes>) => () => ({ getInstance: () => forNode(limited) });

/** Limits the address that it reads from what servers pass beside a request. */
function withPeer<Beside>(read: (beside: Beside) => string): (request: Request, ...beside: Beside[]) => Response {
  const limited = threeTimes();
  return (request, ...[beside]) =>
    beside !== undefined && read(beside) === '127.0.0.1' ? limited(request) : answer(500);
}

const closeLater = useClosing();

async function listening(): Promise<Server> {
  const server = closeLater(createServer(forNode(threeTimes())).listen(0, '127.0.0.1'));
  await once(server, 'listening');
  return server;
}

async function getMessage(app: TestedApp, options: ExpectLimitedOptions): Promise<string> {
  const failed = await expectLimited(app, options).catch((reason: unknown) => reason as Error);
  return 'message' in failed ? failed.message : 'nothing was thrown';
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

describe('expectLimited passes for', () => {
  it.each<[string, () => TestedApp | Promise<TestedApp>]>([
    ['a handler of node:http, as Express is', () => forNode(threeTimes())],
    ['a node:http server that does not listen', () => createServer(forNode(threeTimes()))],
    ['a node:http server that listens', listening],
    ['a URL', async () => `http://127.0.0.1:${String(((await listening()).address() as AddressInfo).port)}`],
    ['an object with callback, as Koa', () => ({ callback: () => forNode(threeTimes()) })],
    ['one with ready and routing, as Fastify', () => ({ ready: resolved, routing: forNode(threeTimes()) })],
    ['one with init and getHttpAdapter, as NestJS', () => ({ init: resolved, getHttpAdapter: asNest(threeTimes()) })],
    ['a handler of fetch', threeTimes],
    ['one that reads the address as on Bun', () => withPeer((server: Bun) => server.requestIP().address)],
    ['one that reads the address as on Deno', () => withPeer((info: Deno) => info.remoteAddr.hostname)],
    ['an object with fetch, as Hono', () => ({ fetch: withPeer((env: Node) => env.incoming.socket.remoteAddress) })],
  ])('%s', async (_name, make) => {
    const denial = await expectLimited(await make(), { limit: 3 });

    expect([denial.status, denial.headers.get('retry-after')]).toEqual([429, '60']);
  });

  it('a method, header fields and a body of the test, a limit of 0, and statuses of its own', async () => {
    const login = async (request: Request): Promise<Response> => {
      const isAnn =
        request.method === 'POST' && request.headers.get('x-key') === 'k' && (await request.text()) === 'ann';
      return answer(isAnn ? 420 : 400, { ...FIELDS, RateLimit: '"login";r=0', 'RateLimit-Policy': '"login";q=0' });
    };
    const request = { method: 'POST', headers: { 'X-Key': 'k' }, body: 'ann' };

    const denial = await expectLimited(login, { ...request, limit: 0, deniedStatus: 420 });

    expect(denial.status).toBe(420);
  });

  it('the same application again, when the clock has moved', async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ policy: fixedWindow({ limit: 3, window: '1m' }), store: memoryStore({ clock }) });
    const app = async (): Promise<Response> =>
      (await limiter.consume('ann')).allowed ? answer(201) : answer(429, { 'Retry-After': '60' });

    await expectLimited(app, { limit: 3 });
    clock.advance(60_000);

    await expect(expectLimited(app, { limit: 3 })).resolves.toMatchObject({ status: 429 });
  });
});

describe('expectLimited fails', () => {
  it.each<[string, TestedApp, ExpectLimitedOptions, RegExp]>([
    [
      'a request that is denied too early',
      ...([threeTimes(), { limit: 5, path: '/a' }] as const),
      /^GET \/a: exactly 5 requests should be allowed, but request 4 got 429, RateLimit: "default";r=0;t=60: only 3 were\. .*clear its memory store/,
    ],
    ['a limit that is larger', threeTimes(), { limit: 2 }, /request 3 got 200, .*: 3 were\. The limit is larger/],
    [
      'a route without a limit',
      () => answer(200),
      { limit: 2 },
      /request 3 got 200: 3 were\. .* no limiter acts on this/,
    ],
    [
      'no route',
      () => answer(404),
      { limit: 2 },
      /request 1 got 404: this response does not come from a limited route/,
    ],
    ['what is not an application', 5 as never, { limit: 1 }, /takes an Express, Koa, .* got 5/],
    ['unknown options', threeTimes(), { limit: 1, limits: 2 } as never, /expectLimited has no option "limits"/],
  ])('for %s', async (_name, app, options, message) => {
    expect(await getMessage(app, options)).toMatch(message);
  });
});
