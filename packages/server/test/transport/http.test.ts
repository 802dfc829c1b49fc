import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import { tlsFixture, until, useClosing } from '@sluice/testkit';
import { Clients } from '../../src/transport/clients.ts';
import { serveHttp, type HttpOptions, type Made, type Route } from '../../src/transport/http.ts';

const GATEWAY = '127.0.0.1';
/** An address of the loopback that is no gateway's. */
const STRANGER = '127.0.0.2';
/** More than the system takes for a client that does not read. */
const LARGE = Buffer.alloc(16 * 1024 * 1024);
const DRAIN_MS = 60_000;
const TLS = {
  ...{ cert: readFileSync(tlsFixture.certFile), key: readFileSync(tlsFixture.keyFile), requestCert: false },
};

let made: Made;
let port: number;
let asked: number;
let later: ServerResponse[];
const closing = useClosing();

async function start(options: Partial<HttpOptions> = {}): Promise<void> {
  [asked, later] = [0, []];
  const clients = new Clients(() => [GATEWAY]);
  const makeRoute = (path: string, handle: Route['handle'], more: Partial<Route> = {}): Route => ({
    ...{ path, ...more },
    handle: (...given) => {
      asked++;
      return handle(...given);
    },
  });
  const routes = [
    makeRoute('/read', (_asked, response) => void response.end('text'), { method: 'GET' }),
    makeRoute('/write', (_asked, response, body) => void response.end(String(body.length)), {
      ...{ method: 'POST', readsBody: true },
    }),
    makeRoute('/large', (_asked, response) => void response.end(LARGE)),
    makeRoute('/later', async (_asked, response) => {
      later.push(response);
      await once(response, 'finish');
    }),
    makeRoute('/lives', (_asked, response) => void response.end(), { isAlwaysServed: true }),
    makeRoute('/broken', () => {
      throw new Error('a secret');
    }),
  ];
  made = serveHttp(routes, { maxInFlight: 10, clients, ...options });
  closing(() => made.close(0));
  made.server.listen(0, '127.0.0.1');
  await once(made.server, 'listening');
  ({ port } = made.server.address() as AddressInfo);
}

function open(from = STRANGER): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from, allowHalfOpen: true });
  socket.on('error', () => undefined);
  closing(() => socket.destroy());
  return socket;
}

const makeStatus = async (path: string, init?: RequestInit): Promise<number> =>
  (await fetch(`http://127.0.0.1:${String(port)}${path}`, init)).status;

describe('a route', () => {
  it.each([
    ['GET', '/read', 200, null, 'text'],
    ['HEAD', '/read', 200, null, ''],
    ['POST', '/read', 405, 'GET, HEAD', '/read takes GET, HEAD, got POST'],
    ['GET', '/write', 405, 'POST', '/write takes POST, got GET'],
    ['GET', '/nowhere', 404, null, 'there is nothing at /nowhere; known: /read'],
    ['GET', '/broken', 500, null, 'the service failed to answer'],
  ])('answers %s %s with %i', async (method, path, status, allow, body) => {
    await start();
    const response = await fetch(`http://127.0.0.1:${String(port)}${path}?a`, { method });

    expect([response.status, response.headers.get('allow')]).toEqual([status, allow]);
    expect(await response.text()).toContain(body);
  });
});

describe('clients that are slow', () => {
  it('have no place for bodies that do not come, nor for answers that they do not read', async () => {
    await start({ maxInFlight: 2 });
    for (let i = 0; i < 40; i++) open().write('POST /write HTTP/1.1\r\nHost: a\r\nContent-Length: 50\r\n\r\n{');
    open().pause().write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(8));
    await until('all are answered', () => asked === 8);

    expect(await makeStatus('/write', { method: 'POST', body: 'x' })).toBe(200);
  });

  it.each(['/read', '/later'])(
    'lose a connection over which they ask for %s more than 100 times at once',
    async (path) => {
      await start({ maxInFlight: 1000 });
      const request = `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`;
      open().write(request.repeat(100));
      await until('all are answered', () => asked === 100);
      const socket = open().resume();
      socket.write(request.repeat(1000));
      await until('it is ended', () => socket.closed || socket.readableEnded);

      expect(asked).toBe(200);
    },
  );

  it('get 503 while all places are taken, and the service still says that it lives', async () => {
    await start({ maxInFlight: 2 });
    const waiting = [makeStatus('/later'), makeStatus('/later')];
    await until('both wait', () => later.length === 2);

    expect(await makeStatus('/read')).toBe(503);
    expect(await makeStatus('/lives')).toBe(200);
    for (const response of later) response.end();
    expect(await Promise.all(waiting)).toEqual([200, 200]);
  });

  it('have at most half of all connections each, with and without TLS, and gateways as many as they open', async () => {
    await start({ tls: TLS });
    const strangers: Socket[] = [];
    // One after the other: the system's queue of connections to accept holds 511, and loses what comes on top.
    while (strangers.length < 2054) {
      const socket = open().resume();
      strangers.push(socket);
      await once(socket, 'connect');
    }
    await until('those beyond its share are ended', () =>
      strangers.slice(2048).every(({ closed, readableEnded }) => closed || readableEnded),
    );
    const gateway = connectTls({ socket: open(GATEWAY), ca: tlsFixture.ca, host: '127.0.0.1' });
    gateway.write('GET /read HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');

    expect(await text(gateway)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('have at most what is left of the room for bodies that are not whole, for each client of a gateway, whose connections stay', async () => {
    await start();
    const write = (from: string, client: string): Promise<string> => {
      const fields = `X-Forwarded-For: ${client}\r\nContent-Length: 65000\r\n`;
      const socket = open(from);
      socket.write(`POST /write HTTP/1.1\r\nHost: a\r\n${fields}\r\n${'x'.repeat(64_000)}`);
      return once(socket, 'data').then(String);
    };
    const first = await Promise.race(Array.from({ length: 270 }, () => write(STRANGER, '203.0.113.9')));
    const ofGateway = await Promise.race(Array.from({ length: 140 }, () => write(GATEWAY, '203.0.113.1')));

    expect(first).toMatch(/^HTTP\/1\.1 503 [^]*connection: close/i);
    expect(ofGateway).toMatch(/^HTTP\/1\.1 503 /);
    expect(ofGateway).not.toMatch(/connection: close/i);
    expect(await makeStatus('/write', { method: 'POST', body: 'x' })).toBe(200);
  });
});

/** Sends the pieces, each once the one before has left, and resolves to what came back and how the connection ended. */
async function sendInPieces(pieces: readonly string[]): Promise<{ received: string; errors: readonly string[] }> {
  const socket = open(GATEWAY);
  let received = '';
  const errors: string[] = [];
  socket.setEncoding('latin1').on('data', (more: string) => (received += more));
  socket.on('error', ({ code }: NodeJS.ErrnoException) => errors.push(String(code)));
  for (const piece of pieces) {
    await new Promise((resolve) => socket.write(piece, 'latin1', resolve));
    await new Promise((resolve) => setImmediate(resolve));
  }
  socket.end();
  if (!socket.closed) await new Promise((resolve) => socket.once('close', resolve));
  return { received, errors };
}

describe('a listener that is sent no HTTP request', () => {
  const long = Array.from({ length: 40 }, (_, i) => `X-${String(i)}: ${'x'.repeat(8_000)}\r\n`);

  it.each([
    ['431 if the header fields are too long', ['GET / HTTP/1.1\r\nHost: a\r\n', ...long, '\r\n'], 431],
    ['400 if it cannot be read', ['GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n', ...long, '\r\n'], 400],
    ['400 if it is another protocol', ['\x16\x03\x01\x02', ...long], 400],
  ])('answers %s, reads what follows, and does not reset the connection', async (_what, pieces, status) => {
    await start();
    for (let i = 0; i < 20; i++) {
      const { received, errors } = await sendInPieces(pieces);
      expect(received).toMatch(new RegExp(`^HTTP/1.1 ${String(status)} `));
      expect(received.match(/HTTP/g)).toHaveLength(1);
      expect(errors).toEqual([]);
    }
  });
});

describe('closing a listener', () => {
  it.each([
    ['plain', undefined],
    ['TLS', TLS],
  ])('does not wait for connections over which nothing was asked: %s', async (_kind, tls) => {
    await start({ tls });
    const socket = open();
    const unused = tls === undefined ? socket : connectTls({ socket, host: '127.0.0.1', ca: tlsFixture.ca });
    await once(unused, tls === undefined ? 'connect' : 'secureConnect');
    const startedAt = performance.now();
    await made.close(DRAIN_MS);

    expect(performance.now() - startedAt).toBeLessThan(DRAIN_MS / 2);
  });

  it('answers what runs and what comes at the last moment, and says that their connections end with that', async () => {
    await start();
    const accepted: Socket[] = [];
    made.server.on('connection', (socket: Socket) => accepted.push(socket));
    const [ofRunning, ofLater, unused] = [open(), open(), open()];
    const received = Promise.all([text(ofRunning), text(ofLater), text(unused)]);
    ofRunning.write('GET /later HTTP/1.1\r\nHost: a\r\n\r\n');
    ofLater.write('GET /read HTTP/1.1\r\n');
    await until(
      'both have come',
      () => later.length === 1 && accepted.filter(({ bytesRead }) => bytesRead > 0).length === 2,
    );

    const closed = made.close(DRAIN_MS);
    ofLater.write('Host: a\r\n\r\n');
    unused.write('GET /read HTTP/1.1\r\nHost: a\r\n\r\n');
    later[0]?.end('done');
    const answers = await received;
    for (const socket of [ofRunning, ofLater, unused]) socket.end();
    await closed;

    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)*Connection: close\r\n/i);
  });
});
