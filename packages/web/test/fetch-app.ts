import { fromProxy, rateLimit, type AddressSource } from '@sluice/web';
import type { Answer, App, Call, Limit, Route } from '@sluice/testkit/contract';

/** A fetch handler, with what its server passes beside the request. */
export type Fetch = (request: Request, context: never) => Response | Promise<Response>;

/** An application of plain fetch handlers: a table of routes, and functions around it. */
export function fetchApp(app: App, peer: AddressSource): Fetch {
  const { limits = [], routes, before = {}, trustLoopback = false, users = false, methodOverride } = app;
  const more = {
    address: trustLoopback ? fromProxy(['127.0.0.1'], peer) : peer,
    routes: routes.map(({ path }) => path),
    deniedHeaders: before,
  };
  const limiterOf = (options: Limit) => rateLimit({ ...options, ...more } as never);

  const handlers = routes.map((route) => ({ route, handle: handlerOf(route, limiterOf) }));
  let fetch: Fetch = async (request, context) => {
    const { pathname } = new URL(request.url);
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    const found = handlers.find(({ route }) => route.method === method && matches(route.path, pathname));
    const response = (await found?.handle(request, context)) ?? new Response('not found', { status: 404 });
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

/** What the handler of a scenario is told of a request. */
export async function describeCall(request: Request, info: Call['rateLimit']): Promise<Call> {
  const { method, headers } = request;
  const hasBody = method !== 'GET' && headers.get('content-type')?.startsWith('application/json') === true;
  return { method, headers, body: hasBody ? await request.json() : undefined, rateLimit: info };
}

/** The response of a handler. */
export function responseOf({ status = 200, headers = {}, body = '', stream }: Answer): Response {
  return new Response(stream === undefined ? body : bodyOf(stream), { status, headers });
}

/** What an application's error handler sends. */
export function errorResponse(error: unknown): Response {
  const {
    message = '',
    status = 500,
    headers = {},
  } = (error ?? {}) as Partial<Error> & {
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string>>;
  };
  return new Response(status === 500 ? 'Internal Server Error' : message, { status, headers });
}

function bodyOf(stream: NonNullable<Answer['stream']>): ReadableStream {
  const pieces = stream[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
  return new ReadableStream({
    async pull(controller) {
      const next = await pieces.next();
      if (next.done === true) controller.close();
      else controller.enqueue(new Uint8Array(next.value));
    },
    cancel() {
      stream.destroy();
    },
  });
}

function handlerOf({ limit, handle }: Route, limiterOf: (options: Limit) => ReturnType<typeof rateLimit>): Fetch {
  const own = async (request: Request): Promise<Response> => {
    return responseOf(await handle(await describeCall(request, request.rateLimit)));
  };
  return limit === undefined ? own : limiterOf(limit).handle(own);
}

/** Routers compare segments that they have decoded. */
function matches(template: string, pathname: string): boolean {
  const parts = template.split('/');
  const segments = pathname.split('/');
  const isEqual = (part: string, segment: string): boolean =>
    part.startsWith(':') ? segment !== '' : part === decodeURIComponent(segment);
  return parts.length === segments.length && parts.every((part, i) => isEqual(part, segments[i] ?? ''));
}

function overriding(fetch: Fetch): Fetch {
  return (request, context) => {
    const method = request.headers.get('x-http-method-override');
    if (method === null) return fetch(request, context);
    return fetch(new Request(request.url, { method, headers: request.headers, signal: request.signal }), context);
  };
}
