import { once } from 'node:events';
import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { startTcpProxy, until, type TcpProxy } from '@sluice/testkit';

let echo: Server;
let atServer: Socket[];
let proxy: TcpProxy;
let clients: Socket[];
beforeEach(async () => {
  atServer = [];
  clients = [];
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    atServer.push(socket);
    socket.on('error', () => undefined);
    socket.on('data', (bytes) => socket.write(bytes));
    socket.on('end', () => socket.end('goodbye'));
  }).listen(0, '127.0.0.1');
  await once(echo, 'listening');
  proxy = await startTcpProxy({ host: '127.0.0.1', port: (echo.address() as AddressInfo).port });
});
afterEach(() => {
  for (const client of clients) client.destroy();
  for (const socket of atServer) socket.destroy();
  proxy.close();
  echo.close();
});

interface Talk {
  readonly socket: Socket;
  received: string;
  ended: boolean;
  closed: boolean;
}

/** A client that has sent hello, and received its echo. */
async function talk(): Promise<Talk> {
  const some = open();
  some.socket.write('hello');
  await until('the echo', () => some.received === 'hello');
  some.received = '';
  return some;
}

function open(): Talk {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(socket);
  const some: Talk = { socket, received: '', ended: false, closed: false };
  socket.on('data', (bytes) => (some.received += bytes.toString()));
  socket.on('end', () => (some.ended = true));
  socket.on('close', () => (some.closed = true));
  socket.on('error', () => undefined);
  return some;
}

describe('a proxy', () => {
  it('forwards everything, in order', async () => {
    const some = await talk();

    for (let i = 0; i < 1_000; i++) some.socket.write(`${String(i)},`);

    const all = Array.from({ length: 1_000 }, (_, i) => `${String(i)},`).join('');
    await until('all of it', () => some.received.length === all.length);
    expect(some.received).toBe(all);
  });

  it('delays every byte, each way', async () => {
    const some = await talk();
    const startedAt = performance.now();

    proxy.delay(150);
    some.socket.write('slow');
    await until('the echo', () => some.received === 'slow');

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299);
  });

  it('cuts open connections, and accepts new ones', async () => {
    const some = await talk();

    proxy.cut();

    await until('the end', () => some.closed);
    expect((await talk()).closed).toBe(false);
  });

  it('rejects new connections, and keeps open ones, until it is healed', async () => {
    const some = await talk();

    proxy.deny();

    const [error] = (await once(open().socket, 'error')) as [Error & { code: string }];
    expect(error.code).toBe('ECONNREFUSED');
    some.socket.write('still here');
    await until('the echo', () => some.received === 'still here');
    await proxy.heal();
    await talk();
  });

  it('forwards nothing while it hangs, on new and old connections, and everything when it is healed', async () => {
    const old = await talk();

    proxy.hang();
    const young = open();
    await once(young.socket, 'connect');
    old.socket.write('old');
    young.socket.write('young');
    await until('it has both', () => proxy.heldBytes === 'oldyoung'.length);

    expect([old.received, young.received]).toEqual(['', '']);
    await proxy.heal();
    await until('both echoes', () => old.received === 'old' && young.received === 'young');
    expect(proxy.heldBytes).toBe(0);
  });

  it('ends the direction to the clients alone', async () => {
    const some = await talk();

    proxy.halfClose('to-client');

    await until('the FIN', () => some.ended);
    const reached = once(atServer[0] as Socket, 'data');
    some.socket.write('one way');
    expect(String((await reached)[0])).toBe('one way');
    expect(some.received).toBe('');
  });

  it('ends the direction to the server alone', async () => {
    const some = await talk();

    proxy.halfClose('to-server');

    await until('what the server says at the end', () => some.received === 'goodbye');
    await until('that it has ended', () => some.ended);
  });
});
