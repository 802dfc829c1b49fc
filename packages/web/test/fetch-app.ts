import { Readable } from 'node:stream';
import { fromProxy, rateLimit, type AddressSource, type RateLimitError } from '@sluice/web';
import type { Answer, App, Limit } from '@sluice/testkit/contract';
import { Hono } from 'hono';

/** A fetch handler, with what its server passes beside the request. */
export type Fetch = (request: Request, context: never) => Response | Promise<Response>;

/** An application of plain fetch handlers: Hono only finds the route, and functions are around it. */
export function fetchApp(app: App, peer: AddressSource): Fetch {
  const { limits = [], routes, before = {}, trustLoopback = false, users = false, methodOverride } = app;
  const more = {
    address: trustLoopback ? fromProxy(['127.0.0.1'], peer) : peer,
    routes: routes.map(({ path }) => path),
    deniedHeaders: before,
  };
  const limiterOf = (options: Limit) => rateLimit({ ...options, ...more } as never);

  const router = new Hono();
  for (const { method, path, limit, handle } of routes) {
    const own = async (request: Request): Promise<Response> => responseOf(await handle(request));
    const limited: Fetch = limit === undefined ? own : limiterOf(limit).handle(own);
    router.on(method, path, (c) => limited(c.req.raw, c.env as never));
  }
  router.onError((error) => {
    throw error;
  });
  let fetch: Fetch = async (request, context) => {
    const response = await router.fetch(request, context);
    for (const [name, value] of Object.entries(before)) {
      if (!response.headers.has(name)) response.headers.set(name, value);
    }
    return response;
  };
  if (methodOverride === 'after') fetch = overriding(fetch);
  for (const limit of limits.toReversed()) fetch = limiterOf(limit).handle(fetch);
  if (methodOverride === 'before') fetch = overriding(fetch);
  return (request, context) => {
    const user = request.headers.get('x-user');
    if (users && user !== null) Object.assign(request, { user: { id: user } });
    return fetch(request, context);
  };
}

/** The response of a handler. */
export function responseOf({ status = 200, headers = {}, body = '', stream }: Answer): Response {
  return new Response(stream === undefined ? body : (Readable.toWeb(stream) as ReadableStream), { status, headers });
}

/** What an application's error handler sends. */
export function errorResponse(error: unknown): Response {
  const { message = '', status = 500, headers = {} } = (error ?? {}) as Partial<RateLimitError>;
  return new Response(status === 500 ? 'Internal Server Error' : message, { status, headers });
}

function overriding(fetch: Fetch): Fetch {
  return (request, context) => {
    const method = request.headers.get('x-http-method-override');
    if (method === null) return fetch(request, context);
    return fetch(new Request(request.url, { method, headers: request.headers, signal: request.signal }), context);
  };
}
