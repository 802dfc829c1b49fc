import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { Body } from './body.ts';
import type { Sessions } from './sessions.ts';
import { CallError, Status, encodeMessage, type StatusCode } from './status.ts';
import { parseTimeout } from './timeout.ts';
import type { Clients } from '../transport/clients.ts';

/** A method of a service. Its request is one message. */
export interface Method {
  /**
   * Decodes the request.
   *
   * @throws CallError; any other error for bytes that are no message.
   */
  decode(message: Buffer): unknown;
  /** Begins to answer the call, whose request is complete. An error that it throws ends the call; it never rejects. */
  answer(call: Call): unknown;
}

/** How long a call may take, from its header fields to its last byte. */
const MAX_CALL_MS = 10_000;

const CONTENT_TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/i;
const RESPONSE = { ':status': 200, 'content-type': 'application/grpc' };
const WITH_TRAILERS = { waitForTrailers: true, sendDate: false };
const END = { endStream: true, sendDate: false };
const OK_TRAILERS = { 'grpc-status': '0' };

/** One call, from its header fields to its status. */
export class Call {
  readonly stream: ServerHttp2Stream;
  /** By `performance.now()`. */
  readonly arrivedAtMs: number = performance.now();
  /** The client's deadline, by `performance.now()`. Undefined without `grpc-timeout`. */
  readonly deadlineAtMs: number | undefined;
  readonly authorization: string | undefined;
  /** The decoded message. */
  request: unknown;
  readonly #method: Method;
  readonly #clients: Clients;
  readonly #client: string;
  readonly #body = new Body();
  /** Bytes of the incomplete message that count for the client. */
  #heldBytes = 0;
  /** Ends the call if it takes too long. Undefined once the call is no longer counted. */
  #timer: NodeJS.Timeout | undefined;
  #isAnswered = false;

  /** @throws CallError for a bad timeout, and if there are too many calls. */
  constructor(
    stream: ServerHttp2Stream,
    headers: IncomingHttpHeaders,
    client: string,
    method: Method,
    clients: Clients,
  ) {
    const timeout = headers['grpc-timeout'];
    this.stream = stream;
    this.deadlineAtMs = typeof timeout === 'string' ? this.arrivedAtMs + parseTimeout(timeout) : undefined;
    this.authorization = headers.authorization;
    this.#method = method;
    this.#clients = clients;
    this.#client = client;
    if (!clients.calls.take(client, 1)) throw tooMany();
    this.#timer = setTimeout(drop, MAX_CALL_MS, this);
    stream
      .on('data', (chunk: Buffer) => {
        this.#receive(chunk);
      })
      .on('end', () => {
        this.#requestEnded();
      })
      .on('wantTrailers', () => {
        this.#leave();
        if (!this.isGone) stream.sendTrailers(OK_TRAILERS);
      })
      .on('close', () => {
        this.#isAnswered = true;
        this.request = undefined;
        this.#leave();
      });
  }

  /** Whether the client has left, or the call was dropped. */
  get isGone(): boolean {
    return this.stream.destroyed || this.stream.closed;
  }

  /** Ends the call with its only message, which begins with a prefix. */
  answer(message: Buffer): void {
    if (!this.#begin()) return;
    this.stream.respond(RESPONSE, WITH_TRAILERS);
    this.stream.end(message);
  }

  /** Ends the call with the status of an error, before any message. */
  fail(error: unknown): void {
    if (!this.#begin()) return;
    const { code, message } = toCallError(error);
    respondWith(this.stream, code, message);
  }

  /** Ends a call that took too long. */
  drop(): void {
    this.#leave();
    if (this.#isAnswered) setImmediate(reset, this.stream);
    else this.fail(new CallError(Status.RESOURCE_EXHAUSTED, 'the call was dropped: it took too long'));
  }

  #receive(chunk: Buffer): void {
    if (this.#isAnswered) return;
    try {
      const message = this.#body.add(chunk);
      if (message !== undefined) this.request = decode(this.#method, message);
      this.#hold(this.#body.heldBytes);
    } catch (error) {
      this.fail(error);
    }
  }

  #requestEnded(): void {
    if (this.#isAnswered) return;
    try {
      this.#body.end();
      if (this.deadlineAtMs !== undefined && performance.now() >= this.deadlineAtMs) {
        throw new CallError(Status.DEADLINE_EXCEEDED, 'the deadline of the call has passed');
      }
      this.#method.answer(this);
    } catch (error) {
      this.fail(error);
    }
  }

  /** Counts the message's current size. @throws CallError if that is too much for the client, or for all clients. */
  #hold(bytes: number): void {
    const more = bytes - this.#heldBytes;
    if (more === 0 || this.#timer === undefined) return;
    if (more < 0) this.#clients.bytes.give(this.#client, -more);
    else if (!this.#clients.bytes.take(this.#client, more)) throw tooMany();
    this.#heldBytes = bytes;
  }

  /** Stops counting the call and what it holds. */
  #leave(): void {
    if (this.#timer === undefined) return;
    this.#hold(0);
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#clients.calls.give(this.#client, 1);
  }

  /** Whether a response can begin. */
  #begin(): boolean {
    if (this.#isAnswered || this.isGone) return false;
    this.#isAnswered = true;
    return true;
  }
}

function drop(call: Call): void {
  call.drop();
}

function decode(method: Method, message: Buffer): unknown {
  try {
    return method.decode(message);
  } catch (error) {
    if (error instanceof CallError) throw error;
    throw new CallError(Status.INTERNAL, `the message cannot be decoded: ${(error as Error).message}`);
  }
}

/** The error that a client is told. */
function toCallError(error: unknown): CallError {
  return error instanceof CallError ? error : new CallError(Status.INTERNAL, 'the service has failed');
}

function tooMany(): CallError {
  return new CallError(Status.RESOURCE_EXHAUSTED, 'the service is overloaded');
}

/** Ends a stream with only a status. */
function respondWith(stream: ServerHttp2Stream, code: StatusCode, message: string): void {
  stream.respond({ ...RESPONSE, ...statusFields(code, message) }, END);
  dropRest(stream);
}

/**
 * Drops what the client still sends on a stream whose response is complete. A complete request needs no reset. The
 * response is sent first: Node 22 and 26 send a reset before header fields of the same turn, which are then lost.
 */
function dropRest(stream: ServerHttp2Stream): void {
  if (!stream.readableEnded) setImmediate(resetIncomplete, stream);
}

function resetIncomplete(stream: ServerHttp2Stream): void {
  if (!stream.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
}

/**
 * Ends an answered stream whose client does not read. Called after all input has been read, and not with `CANCEL`:
 * otherwise Node 20 queues resets, and its memory can grow without limit.
 */
function reset(stream: ServerHttp2Stream): void {
  if (!stream.destroyed) stream.close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
}

function statusFields(code: StatusCode, message: string): Readonly<Record<string, string>> {
  return { 'grpc-status': String(code), ...(message === '' ? {} : { 'grpc-message': encodeMessage(message) }) };
}

/**
 * Turns HTTP/2 streams into method calls: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * @param methods - By their paths, such as `/package.Service/Method`.
 * @returns A listener for new streams.
 */
export function callServer(
  methods: ReadonlyMap<string, Method>,
  sessions: Sessions,
  clients: Clients,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  return (stream, headers) => {
    stream.on('error', ignore); // 'close' follows
    if (stream.destroyed || stream.closed) return;
    const client = sessions.clientOf(stream.session as ServerHttp2Session);
    const path = headers[':path'] ?? '';
    const method = methods.get(path);
    if (headers[':method'] !== 'POST') respondWithout(stream, constants.HTTP_STATUS_METHOD_NOT_ALLOWED);
    else if (!CONTENT_TYPE.test(headers['content-type'] ?? '')) {
      respondWithout(stream, constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE);
    } else if (method === undefined) respondWith(stream, Status.UNIMPLEMENTED, `there is no method ${path}`);
    else {
      try {
        new Call(stream, headers, client, method, clients);
      } catch (error) {
        const { code, message } = toCallError(error);
        respondWith(stream, code, message);
      }
    }
  };
}

/** Rejects a request that is not gRPC, and drops its body. */
function respondWithout(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ':status': status }, { endStream: true });
  dropRest(stream);
}

function ignore(): void {
  // An error of a stream is the client's fault.
}
