import {
  connect,
  type ClientHttp2Session,
  type IncomingHttpHeaders,
  type IncomingHttpStatusHeader,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { createConnection } from 'node:net';
import { METHODS } from './protocol.ts';

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

/** A client that sends what a client of gRPC would not. */
export class RawClient {
  readonly session: ClientHttp2Session;

  constructor(port: number, localAddress = '127.0.0.1') {
    this.session = connect('http://sluice', {
      maxSessionMemory: 100, // the default is smaller than the messages that it sends
      createConnection: () => createConnection({ host: '127.0.0.1', port, localAddress }),
    });
    this.session.on('error', () => undefined);
  }

  async call(request: RawRequest = {}): Promise<RawAnswer> {
    const { path = METHODS.shouldRateLimit.path, headers = {}, chunks = [], ends = true } = request;
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
    this.session.destroy();
  }
}

/** A message with its prefix. */
export function frameOf(message: Uint8Array, flags = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flags;
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}
