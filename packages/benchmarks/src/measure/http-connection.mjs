import { once } from 'node:events';
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * Connections to a server on the loopback, which ask for a path. On Linux each has its own client address.
 *
 * @param body - JSON, which is posted; undefined: GET.
 */
export async function openConnections(port, count, path = '/', body = undefined) {
  const sockets = Array.from({ length: count }, (_, i) =>
    connect({
      ...{ port, host: '127.0.0.1', noDelay: true },
      ...(process.platform === 'linux' ? { localAddress: `127.1.${i >> 8}.${(i & 255) + 1}` } : {}),
    }),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets.map((socket) => new HttpConnection(socket, requestOf(port, path, body)));
}

function requestOf(port, path, body) {
  const fields = `Host: 127.0.0.1:${port}\r\nAccept: */*\r\n`;
  if (body === undefined) return `GET ${path} HTTP/1.1\r\n${fields}\r\n`;
  return `POST ${path} HTTP/1.1\r\n${fields}Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

/**
 * One request at a time, and only finds the end of each response, because a load generator must be
 * cheap.
 */
class HttpConnection {
  #socket;
  #request;
  #kept = Buffer.alloc(0);
  #resolve;
  #reject;

  constructor(socket, request) {
    this.#socket = socket;
    this.#request = request;
    socket.on('data', (chunk) => {
      this.#read(chunk);
    });
    socket.on('error', (error) => this.#reject?.(error));
    socket.on('close', () => this.#reject?.(new Error('the server closed a connection')));
  }

  /** Resolves with the status. */
  ask() {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      this.#socket.write(this.#request);
    });
  }

  end() {
    this.#reject = undefined;
    this.#socket.destroy();
  }

  #read(chunk) {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    const headEnd = bytes.indexOf(HEAD_END);
    if (headEnd === -1) {
      this.#kept = bytes;
      return;
    }
    const head = bytes.latin1Slice(0, headEnd);
    const length = /\r\ncontent-length: (\d+)/i.exec(head)?.[1];
    if (length === undefined) {
      this.#reject(new Error(`an answer without a length:\n${head}`));
      return;
    }
    if (bytes.length < headEnd + HEAD_END.length + Number(length)) {
      this.#kept = bytes;
      return;
    }
    if (this.#kept.length > 0) this.#kept = Buffer.alloc(0);
    this.#resolve(head.slice(9, 12));
  }
}
