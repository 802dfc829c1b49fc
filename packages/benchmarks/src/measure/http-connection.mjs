import { once } from 'node:events';
import { connect } from 'node:net';

const HEAD_END = Buffer.from('\r\n\r\n');

/**
 * Connections to a server on the loopback, which ask for a path. On Linux each has its own client address.
 *
 * @param proxy - Whether the address is in X-Forwarded-For instead, as behind a proxy on this machine.
 * @param denied - So many of them have one address together, the same in every call.
 * @param from - The number of the first of the others.
 * @param body - JSON, which is posted; undefined: GET.
 */
export async function openConnections(port, count, { path = '/', body, proxy = false, denied = 0, from = 0 } = {}) {
  const clients = Array.from({ length: count }, (_, i) => (i < denied ? '2.0.1' : clientOf(from + i)));
  const sockets = clients.map((client) =>
    connect({
      ...{ port, host: '127.0.0.1', noDelay: true },
      ...(process.platform === 'linux' && !proxy ? { localAddress: `127.${client}` } : {}),
    }),
  );
  await Promise.all(sockets.map((socket) => once(socket, 'connect')));
  return sockets.map((socket, i) => {
    const field = proxy ? `X-Forwarded-For: 198.${clients[i]}\r\n` : '';
    return new HttpConnection(socket, requestOf(port, path, body, field));
  });
}

/** The last three numbers of an address: 1.0.1, 1.0.2 and so on, then from 3.0.0. */
function clientOf(i) {
  const [a, b, c] = [i >> 16, (i >> 8) & 255, i & 255];
  return i < 255 ? `1.0.${c + 1}` : `${a + 3}.${b}.${c}`;
}

function requestOf(port, path, body, field) {
  const fields = `Host: 127.0.0.1:${port}\r\nAccept: */*\r\n${field}`;
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
