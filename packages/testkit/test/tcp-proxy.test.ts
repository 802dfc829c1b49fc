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
  heard: string;
  ended: boolean;
  closed: boolean;
}

/** A client that says hello, and has been echoed. */
async function talk(): Promise<Talk> {
  const some = open();
  some.socket.write('hello');
  await until('the echo', () => some.heard === 'hello');
  some.heard = '';
  return some;
}

function open(): Talk {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
  clients.push(socket);
  const some: Talk = { socket, heard: '', ended: false, closed: false };
  socket.on('data', (bytes) => (some.heard += bytes.toString()));
  socket.on('end', () => (some.ended = true));
  socket.on('close', () => (some.closed = true));
  socket.on('error', () => undefined);
  return some;
}

/** Long enough for anything on the loopback to have come through. */
const aWhile = (): Promise<unknown> => new Promise((resolve) => setTimeout(resolve, 100));

describe('a proxy', () => {
  it('passes everything on, in order', async () => {
    const some = await talk();

    for (let i = 0; i < 1_000; i++) some.socket.write(`${String(i)},`);

    const all = Array.from({ length: 1_000 }, (_, i) => `${String(i)},`).join('');
    await until('all of it', () => some.heard.length === all.length);
    expect(some.heard).toBe(all);
  });

  it('holds every byte up, each way', async () => {
    const some = await talk();
    const startedAt = performance.now();

    proxy.delay(150);
    some.socket.write('slow');
    await until('the echo', () => some.heard === 'slow');

    expect(performance.now() - startedAt).toBeGreaterThanOrEqual(299);
  });

  it('cuts what is open, and takes new connections', async () => {
    const some = await talk();

    proxy.cut();

    await until('the end', () => some.closed);
    expect((await talk()).closed).toBe(false);
  });

  it('refuses new connections, and leaves those that are open, until it is healed', async () => {
    const some = await talk();

    proxy.refuse();

    const [error] = (await once(open().socket, 'error')) as [Error & { code: string }];
    expect(error.code).toBe('ECONNREFUSED');
    some.socket.write('still here');
    await until('the echo', () => some.heard === 'still here');
    await proxy.heal();
    await talk();
  });

  it('passes nothing on while it hangs, to connections new and old, and all of it when it is healed', async () => {
    const old = await talk();

    proxy.hang();
    const young = open();
    await once(young.socket, 'connect');
    old.socket.write('old');
    young.socket.write('young');
    await aWhile();

    expect([old.heard, young.heard]).toEqual(['', '']);
    await proxy.heal();
    await until('both echoes', () => old.heard === 'old' && young.heard === 'young');
  });

  it('ends the way to the clients alone', async () => {
    const some = await talk();

    proxy.halfClose('to-client');

    await until('the FIN', () => some.ended);
    const reached = once(atServer[0] as Socket, 'data');
    some.socket.write('one way');
    expect(String((await reached)[0])).toBe('one way');
    expect(some.heard).toBe('');
  });

  it('ends the way to the server alone', async () => {
    const some = await talk();

    proxy.halfClose('to-server');

    await until('what the server says at the end', () => some.heard === 'goodbye');
    await until('that it has ended', () => some.ended);
  });
});
