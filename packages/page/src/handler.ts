import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PageRequest, PageResponse } from './exchange.ts';
import { fetchRequest, fetchResponse } from './fetch-exchange.ts';
import { nodeRequest, writeToNode, type NodeRequest } from './node-exchange.ts';

/** The context of Koa, as far as the page uses it. */
interface KoaContext {
  readonly req: IncomingMessage;
  readonly res: ServerResponse;
  readonly originalUrl: string;
  readonly mountPath?: string;
  respond?: boolean;
}

/** An instance of Fastify, as far as the page uses it. */
interface FastifyInstance {
  readonly prefix: string;
  removeAllContentTypeParsers(): unknown;
  addContentTypeParser(type: '*', parse: (request: never, body: never, done: (error: null) => void) => void): unknown;
  route(options: {
    readonly method: string[];
    readonly url: string;
    readonly handler: (request: FastifyRequest, reply: FastifyReply) => unknown;
  }): unknown;
}

interface FastifyRequest {
  readonly raw: IncomingMessage;
}

interface FastifyReply {
  readonly raw: ServerResponse;
  hijack(): unknown;
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
  /** Stops counting, and ends the pages that are open. */
  close(): Promise<void>;
}

type Answer = (request: PageRequest) => Promise<PageResponse | undefined>;

/** Makes a handler that answers as a function does. */
export function handlerOf(answer: Answer, close: () => Promise<void>, path: string | undefined): PageHandler {
  const handle = (...args: readonly unknown[]): Promise<unknown> => {
    const [first, second] = args;
    if (first instanceof Request) return byFetch(answer, first, path);
    if (isFastify(first)) return byFastify(answer, first, path);
    if (typeof second === 'function') return byKoa(answer, first as KoaContext, second as () => Promise<unknown>, path);
    return byNode(answer, args as Parameters<typeof byNode>[1], path);
  };
  return Object.assign(handle, { close }) as unknown as PageHandler;
}

async function byFetch(answer: Answer, request: Request, path: string | undefined): Promise<Response> {
  const answered = await answer(fetchRequest(request, path));
  return answered === undefined ? new Response('not found\n', { status: 404 }) : fetchResponse(answered);
}

async function byNode(
  answer: Answer,
  [request, response, next]: readonly [NodeRequest, ServerResponse, ((error?: unknown) => void) | undefined],
  path: string | undefined,
): Promise<void> {
  const { baseUrl } = request;
  const base = path ?? (baseUrl === undefined || baseUrl === '' ? undefined : baseUrl);
  const answered = await answer(nodeRequest(request, request, base));
  if (answered !== undefined) writeToNode(answered, response);
  else if (next !== undefined) next();
  else response.writeHead(404).end('not found\n');
}

async function byKoa(
  answer: Answer,
  context: KoaContext,
  next: () => Promise<unknown>,
  path: string | undefined,
): Promise<void> {
  const { req, res, originalUrl, mountPath } = context;
  const request = nodeRequest(req, context, path ?? mountPath, originalUrl);
  const answered = await answer(request);
  if (answered === undefined) {
    await next();
    return;
  }
  context.respond = false;
  writeToNode(answered, res);
}

function byFastify(answer: Answer, instance: FastifyInstance, path: string | undefined): Promise<void> {
  const { prefix } = instance;
  // The body is read by the page, after it has found out who sends it.
  instance.removeAllContentTypeParsers();
  instance.addContentTypeParser('*', (_request, _body, done) => {
    done(null);
  });
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    reply.hijack();
    const base = prefix === '' ? path : `${prefix}${path ?? ''}`;
    const answered = await answer(nodeRequest(request.raw, request, base));
    if (answered === undefined) reply.raw.writeHead(404).end('not found\n');
    else writeToNode(answered, reply.raw);
  };
  for (const url of ['/', '/*']) instance.route({ method: ['GET', 'POST'], url: `${path ?? ''}${url}`, handler });
  return Promise.resolve();
}

function isFastify(given: unknown): given is FastifyInstance {
  const { route, removeAllContentTypeParsers: remove } = given as Partial<FastifyInstance>;
  return typeof route === 'function' && typeof remove === 'function';
}
