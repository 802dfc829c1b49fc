import { STATUS_CODES, type Server } from 'node:http';
import type { Socket } from 'node:net';

/** How long, and how many bytes, to read of what a client still sends. */
const LINGER_MS = 2_000;
const LINGER_BYTES = 1_048_576;
const STATUS: Readonly<Record<string, number>> = { HPE_HEADER_OVERFLOW: 431, ERR_HTTP_REQUEST_TIMEOUT: 408 };

/**
 * Answers invalid HTTP requests with 400, 408 or 431, and closes the connection only after the client does: a
 * connection closed while the client sends is reset, and the answer may be lost. A gateway would conclude that the
 * service is down, and may forward the request.
 */
export function answerClientErrors(server: Server): void {
  server.on('clientError', (error: NodeJS.ErrnoException, stream) => {
    const socket = stream as Socket;
    if (socket.destroyed || !socket.writable) {
      // Nothing can be sent. After an answer, each further chunk of the same request is another error.
      if (!socket.writableEnded || socket.bytesRead > LINGER_BYTES) socket.destroy();
      return;
    }
    const status = STATUS[error.code ?? ''] ?? 400;
    const line = `HTTP/1.1 ${String(status)} ${STATUS_CODES[status] ?? ''}`;
    socket.end(`${line}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
    const timer = setTimeout(() => socket.destroy(), LINGER_MS).unref();
    socket.once('close', () => {
      clearTimeout(timer);
    });
  });
}
