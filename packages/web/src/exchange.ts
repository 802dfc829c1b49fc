import type { FrameworkReader, RawResponse } from '@sluice/core/http';
import { shown } from '@sluice/core/spi';
import type { AddressSource } from './addresses.ts';
import { followStream } from './follow-stream.ts';
import { copyResponse } from './responses.ts';

type RawRequest = ReturnType<FrameworkReader<object, object>['rawRequest']>;
type Event = 'close' | 'finish';

const LATEST: unique symbol = Symbol('latest exchange');
interface Exchanged {
  [LATEST]?: Exchange;
}

/**
 * A request in one limited handler. It stands in for Node's request and response, whose end refunds and slots wait for.
 */
export class Exchange<Req extends object = object> implements RawRequest, RawResponse {
  /** As the framework passes it to handlers. */
  readonly request: Req;
  /** As it arrived. */
  readonly incoming: Request;
  /** The arguments of the handler after the request. */
  readonly context: readonly unknown[];
  /** Whether a handler runs in it. */
  isOpen: boolean;
  /** What limiters keep about the request, shared with the handlers around this one. */
  readonly locals: object;
  /** The response, once there is one. */
  response: Response | undefined;
  statusCode = 200;
  readonly headersSent = false;
  /** Whether the response has been handed over completely. */
  writableFinished = false;
  /** Whether the response was cut off. */
  destroyed = false;
  readonly #source: AddressSource<never> | undefined;
  /** The exchange of the limited handler around this one. */
  readonly #outer: Exchange | undefined;
  #listeners: Readonly<Record<Event, Set<() => void>>> | undefined;
  #address: { readonly source: AddressSource<never>; readonly value: string | undefined } | undefined;

  /**
   * Opens an exchange of a request, inside an open one of the same request if there is one.
   *
   * @param source - Where its address comes from.
   * @param isOpen - Whether a handler runs in it, until {@link leave}.
   */
  constructor(
    request: Req,
    incoming: Request,
    context: readonly unknown[],
    source: AddressSource<never> | undefined,
    isOpen: boolean,
  ) {
    this.request = request;
    this.incoming = incoming;
    this.context = context;
    this.isOpen = isOpen;
    this.#source = source;
    let outer = Exchange.of(request);
    while (outer !== undefined && !outer.isOpen) outer = outer.#outer;
    this.#outer = outer;
    this.locals = { ...outer?.locals };
    (request as Exchanged)[LATEST] = this;
  }

  /** The most recently opened exchange of a request. */
  static of(request: object): Exchange | undefined {
    return (request as Exchanged)[LATEST];
  }

  /** Lets the runtime watch for the client's disconnect: Bun only notifies a signal that existed before it. */
  watch(): AbortSignal {
    return this.incoming.signal;
  }

  /** Called when the handler has returned. Outside all handlers, the next call with the same request counts again. */
  leave(): void {
    this.isOpen = false;
    if (this.#outer !== undefined) (this.request as Exchanged)[LATEST] = this.#outer;
  }

  /**
   * The client's address. Read once, because it may be unknown when the client has left.
   *
   * @throws TypeError if the source returns anything else.
   */
  address(source: AddressSource<never>): string | undefined {
    if (this.#address?.source !== source) {
      const value: unknown = source(this.request as never, ...(this.context as never[]));
      if (value !== undefined && value !== null && typeof value !== 'string') {
        throw new TypeError(
          `address must return the client's address as a string, or undefined, got ${shown(value)}; it must be synchronous: do anything slow beforehand`,
        );
      }
      this.#address = { source, value: value ?? undefined };
    }
    return this.#address.value;
  }

  /** The connection, if the request is Node's; otherwise what the request tells about it. */
  get socket(): NonNullable<RawRequest['socket']> {
    const socket = findNodeSocket(this.context);
    if (socket !== undefined) return socket;
    const { signal } = this.incoming;
    return {
      remoteAddress: (this.#source && this.address(this.#source)) ?? '',
      destroyed: signal.aborted,
      once: (_event, listener) => {
        signal.addEventListener('abort', listener, { once: true });
      },
    };
  }

  get writableEnded(): boolean {
    return this.writableFinished;
  }

  once(event: Event, listener: () => void): void {
    if (this.#listeners === undefined) {
      this.#listeners = { close: new Set(), finish: new Set() };
      // If another response is sent instead, such as that of a timeout around the handler, this one is never read.
      findNodeResponse(this.context)?.once('close', () => {
        this.#end(true);
      });
    }
    this.#listeners[event].add(listener);
  }

  off(event: Event, listener: () => void): void {
    this.#listeners?.[event].delete(listener);
  }

  /**
   * Ends with this response. If anything waits for the end, it comes when the body has been read or cancelled: the
   * returned response's body is observed, and read no faster than requested.
   */
  endWith(response: Response): Response {
    const { close, finish } = this.#listeners ?? {};
    if (!close?.size && !finish?.size) return response;
    this.response = response;
    this.statusCode = response.status;
    const body = response.status < 200 || this.incoming.method === 'HEAD' ? null : response.body;
    if (body === null || body.locked) {
      this.#end(false);
      return response;
    }
    const ended = (): void => {
      this.#end(false);
    };
    const cut = (): void => {
      this.#end(true);
    };
    return copyResponse(response, followStream<Uint8Array>(body, { ended, cut }));
  }

  #end(isCut: boolean): void {
    if (this.writableFinished || this.destroyed) return;
    this.writableFinished = !isCut;
    this.destroyed = isCut;
    if (!isCut) for (const listener of this.#listeners?.finish ?? []) listener();
    for (const listener of this.#listeners?.close ?? []) listener();
  }
}

/**
 * The socket of a Node request behind a fetch handler. Unlike the request's signal, it shows that a client left while
 * its response was queued behind others. In HTTP/2, all requests of a client share one.
 */
function findNodeSocket([context]: readonly unknown[]): NonNullable<RawRequest['socket']> | undefined {
  const { incoming = context } = (context ?? {}) as { readonly incoming?: unknown };
  const { httpVersionMajor, socket } = (incoming ?? {}) as RawRequest & { readonly httpVersionMajor?: number };
  return httpVersionMajor === 1 && typeof socket?.once === 'function' ? socket : undefined;
}

/** The Node response in which a request ends: `@hono/node-server` passes it along with the request. */
function findNodeResponse([context]: readonly unknown[]): Pick<RawResponse, 'once'> | undefined {
  const { outgoing } = (context ?? {}) as { readonly outgoing?: Partial<RawResponse> | null };
  return typeof outgoing?.once === 'function' ? (outgoing as RawResponse) : undefined;
}
