import {
  connect,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
  type SecureClientSessionOptions,
} from 'node:http2';
import { decodeResponse, encodeRequest, PATHS, type RequestFields, type ResponseFields } from './protocol.ts';

/** What a stream of HTTP/2 was answered. */
export interface RawAnswer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly trailers: IncomingHttpHeaders;
  readonly body: Buffer;
  /** The status of gRPC, from the trailers, or from the header fields where there is no body. */
  readonly grpcStatus: number | undefined;
  readonly grpcMessage: string | undefined;
  /** The code of the frame that ended the stream. */
  readonly rstCode: number;
}

export interface RawRequest {
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  /** Frames of data, each written when the one before has been sent. */
  readonly chunks?: readonly Buffer[];
  /** Whether the request ends. Default true. */
  readonly ends?: boolean;
}

export interface AskOptions {
  readonly authorization?: string;
  /** The deadline that it tells the service, while it waits without one, as in `1500m`. */
  readonly grpcTimeout?: string;
}

/** The names of gRPC's statuses, by their numbers: https://grpc.github.io/grpc/core/md_doc_statuscodes.html */
const STATUSES = [
  ...['OK', 'CANCELLED', 'UNKNOWN', 'INVALID_ARGUMENT', 'DEADLINE_EXCEEDED', 'NOT_FOUND', 'ALREADY_EXISTS'],
  ...['PERMISSION_DENIED', 'RESOURCE_EXHAUSTED', 'FAILED_PRECONDITION', 'ABORTED', 'OUT_OF_RANGE', 'UNIMPLEMENTED'],
  ...['INTERNAL', 'UNAVAILABLE', 'DATA_LOSS', 'UNAUTHENTICATED'],
];

/** A client of gRPC over a connection of its own, which also sends what other clients would not. */
export class GrpcClient {
  /** Whether the service has asked it to leave. */
  isTold = false;
  readonly #url: string;
  readonly #options: SecureClientSessionOptions;
  #session: ClientHttp2Session | undefined;

  /**
   * @param target - A port of the loopback, or a URL.
   * @param options - Of the connection, such as `ca`, and `localAddress` without TLS.
   */
  constructor(target: number | string, options: SecureClientSessionOptions & { readonly localAddress?: string } = {}) {
    this.#url = typeof target === 'number' ? `http://127.0.0.1:${String(target)}` : target;
    this.#options = { ...options, maxSessionMemory: 100 }; // the default is smaller than the messages that it sends
  }

  /** The connection; another one if it has ended. */
  get session(): ClientHttp2Session {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = connect(this.#url, this.#options);
      this.#session.on('error', () => undefined);
      this.#session.on('goaway', () => (this.isTold = true));
    }
    return this.#session;
  }

  /** Calls ShouldRateLimit. Rejects with an error whose `status` is the name of another status than OK. */
  async ask(request: RequestFields, { authorization, grpcTimeout }: AskOptions = {}): Promise<ResponseFields> {
    const headers = {
      ...(authorization === undefined ? {} : { authorization }),
      ...(grpcTimeout === undefined ? {} : { 'grpc-timeout': grpcTimeout }),
    };
    const answer = await this.call({ headers, chunks: [frameOf(encodeRequest(request))] });
    const status = nameStatus(answer);
    if (status !== 'OK') throw Object.assign(new Error(answer.grpcMessage), { status });
    return decodeResponse(answer.body.subarray(5));
  }

  /** The health of the service, `SERVING` or `NOT_SERVING`; the status of the call if that is another one than OK. */
  async check(service = ''): Promise<string> {
    const message = service === '' ? '' : `\n${String.fromCharCode(service.length)}${service}`; // field 1, a text
    const answer = await this.call({ path: PATHS.health, chunks: [frameOf(Buffer.from(message))] });
    const status = nameStatus(answer);
    return status === 'OK' ? (['UNKNOWN', 'SERVING', 'NOT_SERVING'][answer.body[6] ?? 0] as string) : status;
  }

  async call(request: RawRequest = {}): Promise<RawAnswer> {
    const { path = PATHS.rateLimit, headers = {}, chunks = [], ends = true } = request;
    const stream = this.session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
      ...headers,
    });
    let received: IncomingHttpHeaders = {};
    let trailers: IncomingHttpHeaders = {};
    const body: Buffer[] = [];
    stream.on('response', (fields) => (received = fields));
    stream.on('trailers', (fields: IncomingHttpHeaders) => (trailers = fields));
    stream.on('data', (chunk: Buffer) => body.push(chunk));
    stream.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => stream.once('close', resolve));
    for (const chunk of chunks) {
      if (stream.destroyed || stream.writableEnded) break;
      const written = new Promise<void>((resolve) => {
        stream.write(chunk, () => {
          setImmediate(resolve);
        });
      });
      await Promise.race([closed, written]);
    }
    if (ends && !stream.destroyed) stream.end();
    await closed;
    const last = trailers['grpc-status'] === undefined ? received : trailers;
    const status = last['grpc-status'];
    return {
      status: (received as IncomingHttpHeaders & IncomingHttpStatusHeader)[':status'],
      headers: received,
      trailers,
      body: Buffer.concat(body),
      grpcStatus: status === undefined ? undefined : Number(status),
      grpcMessage: last['grpc-message'] as string | undefined,
      rstCode: stream.rstCode,
    };
  }

  close(): void {
    this.#session?.destroy();
  }
}

function nameStatus({ grpcStatus }: RawAnswer): string {
  return STATUSES[grpcStatus ?? -1] ?? 'no status';
}

/** The name of the status that a call ends with. */
export function readStatus(asked: Promise<unknown>): Promise<string> {
  return asked.then(
    () => 'OK',
    (error: unknown) => (error as { readonly status: string }).status,
  );
}

/** A message with its prefix. */
export function frameOf(message: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
