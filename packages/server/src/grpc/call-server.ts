import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { Call, dropRest, respondWith, type CallDeps, type Method } from './call.ts';
import type { Sessions } from './sessions.ts';
import { CallError, Status } from './status.ts';

const CONTENT_TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/i;

/** Turns streams of HTTP/2 into calls of methods: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md */
export class CallServer {
  readonly #methods: ReadonlyMap<string, Method>;
  readonly #sessions: Sessions;
  readonly #deps: CallDeps;

  /** @param methods - By their paths, such as `/package.Service/Method`. */
  constructor(methods: ReadonlyMap<string, Method>, sessions: Sessions, deps: CallDeps) {
    this.#methods = methods;
    this.#sessions = sessions;
    this.#deps = deps;
  }

  /** Takes a stream that has begun. */
  begin(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void {
    stream.on('error', ignore); // 'close' follows
    if (stream.destroyed || stream.closed) return;
    const connection = this.#sessions.called(stream.session as ServerHttp2Session);
    if (headers[':method'] !== 'POST') {
      respondWithout(stream, constants.HTTP_STATUS_METHOD_NOT_ALLOWED);
      return;
    }
    if (!CONTENT_TYPE.test(headers['content-type'] ?? '')) {
      respondWithout(stream, constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE);
      return;
    }
    const method = this.#methods.get(headers[':path'] ?? '');
    if (method === undefined) {
      this.#deny(stream, new CallError(Status.UNIMPLEMENTED, `there is no method ${headers[':path'] ?? ''}`));
      return;
    }
    try {
      new Call(stream, headers, connection, method, this.#deps);
    } catch (error) {
      this.#deny(stream, error);
    }
  }

  #deny(stream: ServerHttp2Stream, error: unknown): void {
    const { code, message } =
      error instanceof CallError ? error : new CallError(Status.INTERNAL, 'the call has failed');
    this.#deps.ended(code);
    respondWith(stream, code, message);
  }
}

/** Rejects a request that is not gRPC, and drops its body. */
function respondWithout(stream: ServerHttp2Stream, status: number): void {
  stream.respond({ ':status': status }, { endStream: true });
  dropRest(stream);
}

function ignore(): void {
  // An error of a stream is its client's.
}
