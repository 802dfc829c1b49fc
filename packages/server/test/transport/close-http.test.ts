import { once } from 'node:events';
import { request, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from '@jest/globals';
import { tlsFixture, until } from '@sluice/testkit';
import { readFileSync } from 'node:fs';
import { closeHttp } from '../../src/transport/close-http.ts';
import { createHttpListener } from '../../src/transport/http.ts';

type HttpListener = ReturnType<typeof createHttpListener>;

const DRAIN_MS = 60_000;

let listener: HttpListener;
let running: ServerResponse[] = [];

async function start(tls?: { cert: string; key: string }): Promise<number> {
  running = [];
  const routes = [
    { path: '/at-once', handle: (_asked: unknown, response: ServerResponse) => void response.end('done') },
    { path: '/later', handle: (_asked: unknown, response: ServerResponse) => void running.push(response) },
  ];
  listener = createHttpListener(routes, { maxInFlight: 10, tls });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  return (listener.address() as AddressInfo).port;
}

afterEach(() => {
  listener.closeAllConnections();
  listener.close();
});

describe('closing a listener', () => {
  it('does not wait for connections over which nothing was asked', async () => {
    const port = await start();
    const unused = connect(port, '127.0.0.1');
    await once(unused, 'connect');
    const startedAt = performance.now();

    await closeHttp(listener, DRAIN_MS);

    expect(performance.now() - startedAt).toBeLessThan(DRAIN_MS / 2);
    unused.destroy();
  });

  it('does not wait for such connections with TLS', async () => {
    const port = await start({
      cert: readFileSync(tlsFixture.certFile, 'utf8'),
      key: readFileSync(tlsFixture.keyFile, 'utf8'),
    });
    const unused = connectTls({ port, host: '127.0.0.1', ca: tlsFixture.ca });
    await once(unused, 'secureConnect');
    const startedAt = performance.now();

    await closeHttp(listener, DRAIN_MS);

    expect(performance.now() - startedAt).toBeLessThan(DRAIN_MS / 2);
    unused.destroy();
  });

  it('answers a request that comes over one of them at the last moment, and those that run', async () => {
    const port = await start();
    const unused = connect(port, '127.0.0.1');
    const received = text(unused);
    await once(unused, 'connect');
    const sent = request({ host: '127.0.0.1', port, path: '/later', agent: false }).end();
    await once(listener, 'request');

    const closed = closeHttp(listener, DRAIN_MS);
    unused.write('GET /at-once HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    const last = await received;
    running[0]?.end('done');
    const [answer] = (await once(sent, 'response')) as [IncomingMessage];
    const body = await text(answer);
    await closed;

    expect(last).toMatch(/^HTTP\/1.1 200 /);
    expect(body).toBe('done');
  });

  it('tells the clients of requests that run, and of later ones, that their connection ends with the response', async () => {
    const port = await start();
    const sockets: Socket[] = [];
    listener.on('connection', (socket: Socket) => sockets.push(socket));
    const [ofRunning, ofLater] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    const received = Promise.all([text(ofRunning), text(ofLater)]);
    ofRunning.write('GET /later HTTP/1.1\r\nHost: a\r\n\r\n');
    ofLater.write('GET /at-once HTTP/1.1\r\n');
    await until('both have come', () => running.length === 1 && sockets.every(({ bytesRead }) => bytesRead > 0));

    const closed = closeHttp(listener, DRAIN_MS);
    ofLater.write('Host: a\r\n\r\n');
    running[0]?.end('done');
    const answers = await received;
    await closed;

    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)*Connection: close\r\n/i);
  });
});
