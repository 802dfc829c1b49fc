import type { RawResponse } from '@sluice/http/spi';
import type { NestResponse } from './nest-response.ts';

/** Node's own response. */
export interface NodeResponse extends RawResponse {
  statusCode: number;
  getHeader(name: string): number | string | string[] | undefined;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string | Uint8Array): unknown;
}

/**
 * Node's own response, which Fastify passes to middleware, with the methods that `onDenied` and `refund` have in
 * guards.
 */
export class RawReply implements NestResponse {
  readonly raw: NodeResponse;

  constructor(raw: NodeResponse) {
    this.raw = raw;
  }

  get statusCode(): number {
    return this.raw.statusCode;
  }

  set statusCode(code: number) {
    this.raw.statusCode = code;
  }

  getHeader(name: string): number | string | string[] | undefined {
    return this.raw.getHeader(name);
  }

  header(name: string, value: string): this {
    this.raw.setHeader(name, value);
    return this;
  }

  removeHeader(name: string): this {
    this.raw.removeHeader(name);
    return this;
  }

  status(code: number): this {
    this.raw.statusCode = code;
    return this;
  }

  /** Sets the content types that Fastify sets, unless one is set already. */
  send(body?: unknown): this {
    if (body === undefined) this.raw.end('');
    else if (typeof body === 'string') this.#end(body, 'text/plain; charset=utf-8');
    else if (body instanceof Uint8Array) this.#end(body, 'application/octet-stream');
    else this.#end(JSON.stringify(body), 'application/json; charset=utf-8');
    return this;
  }

  #end(body: string | Uint8Array, type: string): void {
    if (this.raw.getHeader('content-type') === undefined) this.raw.setHeader('Content-Type', type);
    this.raw.end(body);
  }
}
