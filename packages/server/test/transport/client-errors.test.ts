import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createHttpListener } from '../../src/transport/http.ts';

type HttpListener = ReturnType<typeof createHttpListener>;

let listener: HttpListener;

async function start(): Promise<number> {
  const handle = (_request: unknown, response: { end(text: string): void }): void => {
    response.end('here');
  };
  listener = createHttpListener([{ path: '/', handle }], { maxInFlight: 10 });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

/** Sends the pieces, each once the one before has left, and resolves to what came back and how the connection ended. */
async function sendInPieces(
  port: number,
  pieces: readonly string[],
): Promise<{ received: string; errors: readonly string[] }> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  let received = '';
  const errors: string[] = [];
  socket.setEncoding('latin1').on('data', (text: string) => (received += text));
  socket.on('error', ({ code }: NodeJS.ErrnoException) => errors.push(String(code)));
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return { received, errors };
}

afterEach(() => {
  listener.closeAllConnections();
  listener.close();
});

describe('a listener that is sent no HTTP request', () => {
  const long = Array.from({ length: 40 }, (_, i) => `X-${String(i)}: ${'x'.repeat(8_000)}\r\n`);

  it.each([
    ['431 where the header fields are too long', ['GET / HTTP/1.1\r\nHost: a\r\n', ...long, '\r\n'], 431],
    ['400 where it cannot be read', ['GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n', ...long, '\r\n'], 400],
    ['400 where it is another protocol', ['\x16\x03\x01\x02', ...long], 400],
  ])('answers %s, reads what follows, and does not reset the connection', async (_what, pieces, status) => {
    const port = await start();

    const answers = [];
    for (let i = 0; i < 20; i++) answers.push(await sendInPieces(port, pieces));

    for (const { received, errors } of answers) {
      expect(received).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
      expect(received.match(/HTTP/g)).toHaveLength(1);
      expect(errors).toEqual([]);
    }
  });

  it('takes as many fields as gateways do', async () => {
    const port = await start();

    const { received } = await sendInPieces(port, [
      'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n',
      ...long.slice(0, 7),
      '\r\n',
    ]);

    expect(received).toMatch(/^HTTP\/1.1 200 /);
  });

  it('closes a connection that sends without end', async () => {
    const port = await start();
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {}); // it is reset
    socket.resume();
    socket.write('GET / HTTP/1.1\r\nX: \x01\r\n');
    const send = setInterval(() => socket.write('x'.repeat(65_536)), 5);

    await closed;
    clearInterval(send);

    expect(socket.bytesWritten).toBeGreaterThan(1_000_000);
  });
});
