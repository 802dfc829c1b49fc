import { PrivateFields } from '@sluice/old-core/spi';
import type { RawRequest, RawResponse, RequestMark } from '@sluice/old-http/spi';

type Event = 'close' | 'finish';
/** Name and value of a header field. */
export type HeaderField = readonly [name: string, value: string];

const NO_FIELDS: readonly string[] = [];

/**
 * A request and what becomes its response. It collects what limiters write, until the handler has returned its
 * response, and stands in for the request and response of Node, whose end refunds and slots wait for.
 */
export class Exchange<Req extends object = object> implements RawRequest, RawResponse {
  /** As the framework passes it to handlers. */
  readonly request: Req;
  /** As it arrived. */
  readonly incoming: Request;
  /** The arguments of the handler behind the request. */
  readonly context: readonly unknown[];
  /** Whether the response is unknown to the limiter: it only says what to add. */
  readonly isChecked: boolean;
  /** The latest mark of the request. */
  mark: RequestMark | undefined;
  /** The header fields that limiters have set. */
  readonly fields: [name: string, value: string][] = [];
  statusCode = 200;
  /** The body of a denial. */
  body: string | undefined;
  /** The response, once there is one. */
  response: Response | undefined;
  /** Whether scripts of other origins may read the fields: the option `cors` of any of its limiters. */
  exposes = false;
  /** Whether the outermost limiter still waits for its handler's response. */
  isOpen = true;
  /** Whether the response has been handed over completely. */
  writableFinished = false;
  readonly headersSent = false;
  /** The input of the warning about a proxy that is not trusted; empty for requests without a check. */
  rawHeaders: readonly string[] = NO_FIELDS;
  #isCut = false;
  #listeners: { readonly event: Event; readonly listener: () => void }[] | undefined;
  #address: { readonly value: string | undefined } | undefined;

  constructor(request: Req, incoming: Request, context: readonly unknown[], isChecked = false) {
    this.request = request;
    this.incoming = incoming;
    this.context = context;
    this.isChecked = isChecked;
  }

  /** The exchange of a request, if a limiter has opened one. */
  static of(request: object): Exchange | undefined {
    return Opened.of(request);
  }

  /** Opens the exchange of a request, in place of an earlier one. */
  static open<Req extends object>(
    request: Req,
    incoming: Request,
    context: readonly unknown[],
    isChecked = false,
  ): Exchange<Req> {
    const exchange = new Exchange(request, incoming, context, isChecked);
    Opened.write(request, exchange);
    return exchange;
  }

  /** The client's address, read once: it may be unknown when the client has left. */
  address(read: () => string | undefined): string | undefined {
    return (this.#address ??= { value: read() }).value;
  }

  get writableEnded(): boolean {
    return this.writableFinished;
  }

  /** Whether the client has left, or the response was cut off. */
  get destroyed(): boolean {
    return this.#isCut || (!this.writableFinished && this.incoming.signal.aborted);
  }

  /** The connection, where the request is one of Node; what the request tells of it elsewhere. */
  get socket(): NonNullable<RawRequest['socket']> {
    const { incoming, isChecked, destroyed } = this;
    const socket = nodeSocket(this.context);
    if (socket !== undefined) return socket;
    const remoteAddress = this.#address?.value;
    if (!isChecked) return { remoteAddress, destroyed };
    // Without a response, only the request tells that its client has left.
    return {
      remoteAddress,
      destroyed,
      once: (_event, listener) => {
        incoming.signal.addEventListener('abort', listener, { once: true });
      },
    };
  }

  /** Lets the runtime watch for the client to leave: Bun tells only a signal that was there before. */
  watch(): AbortSignal {
    return this.incoming.signal;
  }

  getField(name: string): string | undefined {
    for (const [known, value] of this.fields) if (known === name) return value;
    return undefined;
  }

  setField(name: string, value: string): void {
    for (const field of this.fields) {
      if (field[0] !== name) continue;
      field[1] = value;
      return;
    }
    this.fields.push([name, value]);
  }

  removeField(name: string): void {
    const at = this.fields.findIndex(([known]) => known === name);
    if (at !== -1) this.fields.splice(at, 1);
  }

  once(event: Event, listener: () => void): void {
    if (this.#listeners === undefined) {
      this.#listeners = [];
      this.incoming.signal.addEventListener('abort', this, { once: true });
      // Where another response is sent instead, as that of a time limit around the handler, this one is never read.
      nodeResponse(this.context)?.once('close', () => {
        this.cut();
      });
    }
    this.#listeners.push({ event, listener });
  }

  off(event: Event, listener: () => void): void {
    const at = this.#listeners?.findIndex((one) => one.event === event && one.listener === listener) ?? -1;
    if (at !== -1) this.#listeners?.splice(at, 1);
  }

  /** Whether anything waits for the end of the response. */
  get isAwaited(): boolean {
    return this.#listeners !== undefined && this.#listeners.length > 0;
  }

  /** The response has been handed over completely. */
  finish(): void {
    if (this.#hasEnded) return;
    this.writableFinished = true;
    this.#emit('finish');
    this.#close();
  }

  /** The client has left. */
  handleEvent(): void {
    this.cut();
  }

  /** The response has been cut off, or its client has left. */
  cut(): void {
    if (this.#hasEnded) return;
    this.#isCut = true;
    this.#close();
  }

  get #hasEnded(): boolean {
    return this.writableFinished || this.#isCut;
  }

  #close(): void {
    if (this.#listeners === undefined) return;
    this.incoming.signal.removeEventListener('abort', this);
    this.#emit('close');
    this.#listeners.length = 0;
  }

  #emit(event: Event): void {
    for (const one of [...(this.#listeners ?? [])]) if (one.event === event) one.listener();
  }
}

/**
 * The socket of a request of Node behind a fetch handler. It tells of a client that left while its response was behind
 * others, which the signal of the request does not. In HTTP/2 all requests of a client share one.
 */
function nodeSocket([context]: readonly unknown[]): NonNullable<RawRequest['socket']> | undefined {
  const { incoming = context } = (context ?? {}) as { readonly incoming?: unknown };
  const { httpVersionMajor, socket } = (incoming ?? {}) as RawRequest & { readonly httpVersionMajor?: number };
  return httpVersionMajor === 1 && typeof socket?.once === 'function' ? socket : undefined;
}

/** The response of Node that a request ends in: `@hono/node-server` passes it beside the request. */
function nodeResponse([context]: readonly unknown[]): Pick<RawResponse, 'once'> | undefined {
  const { outgoing } = (context ?? {}) as { readonly outgoing?: Partial<RawResponse> | null };
  return typeof outgoing?.once === 'function' ? (outgoing as RawResponse) : undefined;
}

/** Stores the exchange in a private field of the request. */
class Opened extends PrivateFields {
  #exchange: Exchange | undefined;

  static of(request: object): Exchange | undefined {
    return #exchange in request ? request.#exchange : undefined;
  }

  static write(request: object, exchange: Exchange): void {
    const opened = #exchange in request ? request : new Opened(request);
    opened.#exchange = exchange;
  }
}
