import type { IncomingMessage, ServerResponse } from 'node:http';
import { PageProblem, readJson, type PageRequest, type PageResponse } from './exchange.ts';

/** A Node.js request, with what earlier middleware may have added. */
interface NodeRequest extends IncomingMessage {
  readonly body?: unknown;
  readonly originalUrl?: string;
  readonly baseUrl?: string;
}

/** The parts of Koa's context that the page uses. */
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly originalUrl: string;
  readonly mountPath?: string;
  respond?: boolean;
}

/** The parts of a Fastify instance that the page uses. */
interface FastifyInstance {
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: '*', parse: (request: never, body: never, done: (error: null) => void) => void): unknown;
  route(options: {
    readonly method: string[];
    readonly url: string;
    readonly handler: (
      request: { readonly raw: IncomingMessage },
      reply: { readonly raw: ServerResponse; hijack(): unknown },
    ) => unknown;
  }): unknown;
}

/**
 * A handler for every framework: middleware of Express, NestJS and Koa, a plugin of Fastify, a fetch handler, and a
 * listener of `node:http`.
 */
export interface PageHandler {
  (request: Request): Promise<Response>;
  (request: IncomingMessage, response: ServerResponse, next?: (error?: unknown) => void): Promise<void>;
  (context: KoaContext, next: () => Promise<unknown>): Promise<void>;
  (instance: object, options: object): Promise<void>;
  /** Stops counting. */
  close(): Promise<void>;
}

type Answer = (request: PageRequest) => Promise<PageResponse | undefined>;

/** Creates a handler from a function, which passes a request on if the function returns undefined. */
export function makeHandler(answer: Answer, close: () => Promise<void>, path: string | undefined): PageHandler {
  const handle = (...args: readonly unknown[]): Promise<unknown> => {
    const [first, second] = args;
    if (first instanceof Request) return answerFetch(answer, first, path);
    if (isFastify(first)) return registerRoutes(answer, first, path);
    if (typeof second === 'function') return answerKoa(answer, args as Parameters<typeof answerKoa>[1], path);
    return answerNode(answer, args as Parameters<typeof answerNode>[1], path);
  };
  return Object.assign(handle, { close }) as unknown as PageHandler;
}

async function answerFetch(answer: Answer, request: Request, path: string | undefined): Promise<Response> {
  const answered = await answer({
    method: request.method,
    url: request.url.slice(new URL(request.url).origin.length),
    base: path,
    native: request,
    header: (name) => request.headers.get(name) ?? undefined,
    body: async (maxBytes) => readJson((request.body ?? []) as AsyncIterable<Uint8Array>, maxBytes),
  });
  if (answered === undefined) return new Response('not found\n', { status: 404 });
  const headers = new Headers(answered.fields);
  headers.delete('connection'); // the runtime's own
  return new Response(answered.body, { status: answered.status, headers });
}

async function answerNode(
  answer: Answer,
  [request, response, next]: readonly [NodeRequest, ServerResponse, (() => unknown) | undefined],
  path: string | undefined,
): Promise<void> {
  const answered = await answer(readNode(request, request, path ?? (request.baseUrl || undefined)));
  if (answered === undefined && next !== undefined) next();
  else write(answered, response);
}

async function answerKoa(
  answer: Answer,
  [context, next]: readonly [KoaContext, () => Promise<unknown>],
  path: string | undefined,
): Promise<void> {
  const { req, res, originalUrl, mountPath } = context;
  const answered = await answer(readNode(req, context, path ?? mountPath, originalUrl));
  if (answered === undefined) {
    await next();
    return;
  }
  context.respond = false;
  write(answered, res);
}

function registerRoutes(answer: Answer, instance: FastifyInstance, path = ''): Promise<void> {
  // The page reads the body, once it knows who sent it.
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _body, done) => {
    done(null);
  });
  for (const url of ['/', '/*']) {
    instance.route({
      method: ['GET', 'POST'],
      url: path + url,
      handler: async (request, reply) => {
        reply.hijack();
        write(await answer(readNode(request.raw, request, instance.prefix + path || undefined)), reply.raw);
      },
    });
  }
  return Promise.resolve();
}

function isFastify(given: unknown): given is FastifyInstance {
  const { route, removeAllContentTypeParsers: remove } = given as Partial<FastifyInstance>;
  return typeof route === 'function' && typeof remove === 'function';
}

function readNode(request: NodeRequest, native: unknown, base: string | undefined, url?: string): PageRequest {
  return {
    method: request.method ?? 'GET',
    url: url ?? request.originalUrl ?? request.url ?? '/',
    base,
    native,
    header(name) {
      const value = request.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: (maxBytes) => readBody(request, maxBytes),
  };
}

async function readBody(request: NodeRequest, maxBytes: number): Promise<unknown> {
  const { body, readableEnded } = request;
  if (body !== undefined && typeof body === 'object') return body; // a middleware has read it
  if (body === undefined && !readableEnded) return readJson(request, maxBytes);
  throw new PageProblem(400, 'the body was already read, but not as JSON; nothing was done');
}

function write(answered: PageResponse | undefined, response: ServerResponse): void {
  if (response.headersSent) return; // a timeout of the application, for one, has answered already
  const { status, fields, body } = answered ?? { status: 404, fields: {}, body: 'not found\n' };
  response.writeHead(status, { ...fields, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}
