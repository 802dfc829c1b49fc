import { EventEmitter } from 'node:events';
import { memoryStore, type Answer, type Ask, type Op, type Store } from '@sluice/core';
import { Place, RequestLimiter, type Framework, type Plan } from '@sluice/core/http';
import type { RawRequest } from '../../src/http/framework.ts';

/** A request of no framework: what a reader can be asked, written down. */
export interface PlainRequest extends RawRequest {
  readonly address?: string;
  readonly method?: string;
  readonly route?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: string;
}

/** A response of no framework, which ends when a test says so. */
export class PlainResponse extends EventEmitter {
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  writableFinished = false;
  /** Only HTTP/2 has it. */
  stream: { closed?: boolean; destroyed?: boolean; writableFinished?: boolean; rstCode?: number } | undefined;
  statusCode = 200;
  body: string | undefined;
  readonly headers: Map<string, string> = new Map<string, string>();

  /** The handler has answered, and all of it was sent. */
  finish(statusCode = 200): void {
    this.statusCode = statusCode;
    this.headersSent = this.writableEnded = this.writableFinished = true;
    this.emit('finish');
    this.leave();
  }

  /** The client is gone. */
  leave(): void {
    this.destroyed = true;
    this.emit('close');
  }
}

export type PlainFramework = Framework<PlainRequest, PlainResponse>;

const locals = new WeakMap<object, object>();

export const plainFramework: PlainFramework = {
  address: ({ address = '192.0.2.1' }) => address,
  method: ({ method = 'GET' }) => method,
  route: ({ route }) => route,
  header: ({ headers }, name) => headers?.[name],
  user: ({ user }) => user,
  rawRequest: (request) => request,
  locals(request) {
    const known = locals.get(request) ?? {};
    locals.set(request, known);
    return known;
  },
  rawResponse: (response) => response,
  getHeader: (response, name) => response.headers.get(name),
  setHeader: (response, name, value) => void response.headers.set(name.toLowerCase(), value),
  removeHeader: (response, name) => void response.headers.delete(name),
  setStatus: (response, status) => void (response.statusCode = status),
  send: (response, body) => void (response.body = body),
};

export function place(options: object, framework = plainFramework): Place {
  return new Place(options, framework).claim();
}

/** Plans for requests, each of which is a request of its own, even with equal contents. */
export type Send = (request?: PlainRequest, response?: PlainResponse) => Promise<Plan>;

export function sending(options: object, framework = plainFramework): Send {
  const limiter = new RequestLimiter([place(options, framework)], framework);
  return async (request = {}, response = new PlainResponse()) => limiter.plan({ ...request }, response);
}

/** The status of each request: of its denial, or 200. */
export async function statusesOf(options: object, requests: readonly PlainRequest[]): Promise<number[]> {
  const send = sending(options);
  const statuses: number[] = [];
  for (const request of requests) statuses.push((await send(request)).denial?.status ?? 200);
  return statuses;
}

/** The response to one more request of a limiter. */
export async function respondTo(limiter: RequestLimiter, request: PlainRequest = {}): Promise<PlainResponse> {
  const response = new PlainResponse();
  await limiter.limit(request, response);
  return response;
}

/** The header fields of a plan as lines, in order. */
export function lines({ fields, denial }: Plan): string[] {
  return [...fields, ...(denial?.fields ?? [])].map(({ name, value }) => `${name}: ${value}`);
}

/** A store over memory that remembers what it was asked. */
export function remembering(inner: Store = memoryStore()): Store & { readonly ops: Op[]; readonly asked: Ask[][] } {
  const [ops, asked]: [Op[], Ask[][]] = [[], []];
  const perform = (op: Op, asks: readonly Ask[]): Answer | Promise<Answer> => {
    ops.push(op);
    asked.push([...asks]);
    return inner.perform(op, asks);
  };
  return { source: inner.source, ops, asked, perform };
}

/** When all is done that waits for nothing but its turn. */
export async function turns(count = 10): Promise<void> {
  for (let i = 0; i < count; i++) await new Promise(setImmediate);
}
