import { constants, type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2';
import { Call, callErrorOf, dropRest, respondWith, type CallDeps, type Method } from './call.ts';
import type { Sessions } from './sessions.ts';
import { Status } from './status.ts';

const CONTENT_TYPE = /^application\/grpc(?:\+proto)?(?:;|$)/i;

/**
 * Turns streams of HTTP/2 into calls of methods: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md
 *
 * @param methods - By their paths, such as `/package.Service/Method`.
 * @returns A listener for streams that have begun.
 */
export function callServer(
  methods: ReadonlyMap<string, Method>,
  sessions: Sessions,
  deps: CallDeps,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  return (stream, headers) => {
    stream.on('error', ignore); // 'close' follows
    if (stream.destroyed || stream.closed) return;
    const client = sessions.called(stream.session as ServerHttp2Session);
    const path = headers[':path'] ?? '';
    const method = methods.get(path);
    if (headers[':method'] !== 'POST') respondWithout(stream, constants.HTTP_STATUS_METHOD_NOT_ALLOWED);
    else if (!CONTENT_TYPE.test(headers['content-type'] ?? '')) {
      respondWithout(stream, constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE);
    } else if (method === undefined) respondWith(stream, Status.UNIMPLEMENTED, `there is no method ${path}`);
    else {
      try {
        new Call(stream, headers, client, method, deps);
      } catch (error) {
        const { code, message } = callErrorOf(error);
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
  // An error of a stream is its client's.
}
