import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import type { Client } from '@grpc/grpc-js';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { memoryStore, type Store } from '@sluice/old-core';
import { tlsFixture, until } from '@sluice/testkit';
import { createServer, type RunningServer } from '../../src/index.ts';
import { Bodies, WaitingBodies } from '../../src/transport/bodies.ts';
import { Clients } from '../../src/transport/clients.ts';
import { Connections } from '../../src/transport/connections.ts';
import { createHttpListener } from '../../src/transport/http.ts';
import { METHODS } from '../rls/protocol.ts';
import { ask, connect as connectGrpc, descriptor } from '../rls/running-service.ts';

/** An address of the loopback that is no gateway's. */
const STRANGER = '127.0.0.2';
const GATEWAY = '127.0.0.1';

const LIMITS = `
domain: shop
descriptors: [{ key: user, rate_limit: { unit: day, requests_per_unit: 1000 } }]
limits: { login: { fixedWindow: { limit: 1000, window: 1h } } }
forward_auth: { trusted_proxies: [${GATEWAY}], rules: [{ policy: { fixedWindow: { limit: 1000, window: 1h } } }] }
`;
/** More than the system takes for a client that does not read. */
const LARGE = Buffer.alloc(16 * 1024 * 1024);
const BODY = JSON.stringify({ keys: { login: 'ann' } });

const sockets: Socket[] = [];
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy();
});

function open(port: number, from: string): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress: from });
  socket.on('error', () => undefined);
  sockets.push(socket);
  return socket;
}

/** Sends the fields of a request whose body does not come, and waits until the service has read them. */
async function beginRequest(port: number, from: string, fields = ''): Promise<Socket> {
  const socket = open(port, from);
  socket.write(
    `POST /v1/consume HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nExpect: 100-continue\r\nContent-Length: ${String(BODY.length)}\r\n${fields}\r\n`,
  );
  const [first] = (await once(socket, 'data')) as [Buffer];
  expect(first.toString()).toMatch(/^HTTP\/1\.1 100 /);
  socket.write('{');
  return socket;
}

async function statusOf(port: number, path: string, init?: RequestInit): Promise<number> {
  return (await fetch(`http://127.0.0.1:${String(port)}${path}`, init)).status;
}

/** The fields of a call of gRPC. */
const CALL = {
  ...{ ':method': 'POST', ':path': METHODS.shouldRateLimit.path },
  ...{ 'content-type': 'application/grpc', te: 'trailers' },
};

function healthOf(client: Client): Promise<string | undefined> {
  const { path, requestSerialize, responseDeserialize } = METHODS.check;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, requestSerialize, responseDeserialize, { service: '' }, (error, response) => {
      if (error === null) resolve(response?.status);
      else reject(error);
    });
  });
}

const consume = (port: number): Promise<number> =>
  statusOf(port, '/v1/consume', { method: 'POST', headers: { 'content-type': 'application/json' }, body: BODY });

describe('a service with four places', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-slow-'));
  const config = join(folder, 'limits.yaml');
  let server: RunningServer;
  let release: () => void;
  const released = new Promise<void>((resolve) => (release = resolve));
  let isHeld = false;
  let held = 0;
  beforeAll(async () => {
    writeFileSync(config, LIMITS);
    const memory = memoryStore();
    const store: Store = {
      source: memory.source,
      perform: async (requests) => {
        if (isHeld) {
          held++;
          await released;
        }
        return memory.perform(requests);
      },
    };
    server = await createServer({
      ...{ config, store, grpc: 0, http: 0, admin: 0, maxInFlight: 4, timeoutMs: 60_000 },
      log: () => undefined,
    });
  });
  afterAll(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const portOf = (name: 'grpc' | 'http' | 'admin'): number => Number(server.addresses[name]?.split(':').at(-1));

  it('serves others while bodies do not come', async () => {
    const port = portOf('http');
    const waiting = await Promise.all(Array.from({ length: 40 }, () => beginRequest(port, STRANGER)));
    let released = 0;
    for (const socket of waiting) socket.on('data', () => released++).on('close', () => released++);
    const client = connectGrpc(portOf('grpc'));
    const session = connectHttp2(`http://127.0.0.1:${String(portOf('grpc'))}`);
    const slow = Array.from({ length: 40 }, () => session.request(CALL));
    for (const stream of slow)
      stream
        .on('response', () => released++)
        .on('close', () => released++)
        .write('\0');

    expect(await statusOf(port, '/healthcheck')).toBe(200);
    expect(await statusOf(port, '/auth/orders', { headers: { 'x-forwarded-for': '203.0.113.1' } })).toBe(200);
    expect(await statusOf(portOf('admin'), '/metrics')).toBe(200);
    expect(await healthOf(client)).toBe('SERVING');
    expect(await consume(port)).toBe(200);
    expect(await ask(client, { domain: 'shop', descriptors: [descriptor('user=ann')] })).toMatchObject({
      overallCode: 'OK',
    });
    expect(released).toBe(0);
    session.destroy();
    client.close();
  });

  it('keeps the connections of gateways whose calls of gRPC do not end, and drops the oldest of these', async () => {
    const port = portOf('grpc');
    let [dropped, closed] = [0, 0];
    const sessions: ClientHttp2Session[] = [];
    const begin = (calls: number): void => {
      const session = connectHttp2(`http://127.0.0.1:${String(port)}`); // from the address of the gateway
      session.on('error', () => closed++).on('goaway', () => closed++);
      for (let i = 0; i < calls; i++) {
        const stream = session.request(CALL).on('error', () => undefined);
        stream.on('response', (fields) => {
          if (String(fields['grpc-message']).startsWith('the call was dropped')) dropped++;
        });
      }
      sessions.push(session);
    };
    for (let i = 0; i < 21; i++) begin(100); // more than the service keeps
    await until('a call is dropped', () => {
      begin(1);
      return dropped > 0;
    });

    expect(closed).toBe(0);
    for (const session of sessions) session.destroy();
  });

  it('says that it lives while decisions that wait for the store take all places', async () => {
    const port = portOf('http');
    isHeld = true;
    const waiting = Array.from({ length: 4 }, () => consume(port));
    await until('all wait', () => held === 4);

    expect(await consume(port)).toBe(503);
    expect(await statusOf(port, '/healthcheck')).toBe(200);
    release();
    expect(await Promise.all(waiting)).toEqual([200, 200, 200, 200]);
  });
});

describe('a listener', () => {
  type Listener = ReturnType<typeof createHttpListener>;
  let listener: Listener;
  afterEach(() => {
    listener.closeAllConnections();
    listener.close();
  });
  const clients = new Clients(() => [GATEWAY]);
  let asked = 0;
  const start = async (
    most: number,
    tls?: { readonly cert: string; readonly key: string },
    maxInFlight = 100,
  ): Promise<number> => {
    asked = 0;
    const bounds = { mostOfClient: most, most: 100 };
    const bodies = new Bodies({ longest: 1000, waiting: new WaitingBodies(clients, bounds) });
    listener = createHttpListener(
      [
        { path: '/v1/consume', handle: async (request, response) => void response.end(await bodies.read(request)) },
        {
          path: '/large',
          handle: (_request, response) => {
            asked++;
            response.end(LARGE);
          },
        },
        { path: '/auth', handle: (_request, response) => void response.end('allowed') },
      ],
      { maxInFlight, tls, connections: new Connections(clients, { silent: bounds, known: bounds }) },
    );
    listener.listen(0, '127.0.0.1');
    await once(listener, 'listening');
    return (listener.address() as AddressInfo).port;
  };
  const authOver = async (socket: Socket): Promise<string> => {
    socket.write('GET /auth HTTP/1.1\r\nHost: a\r\n\r\n');
    const [answer] = (await once(socket, 'data')) as [Buffer];
    return answer.toString();
  };

  it('closes the oldest connections of a peer that opens too many and says nothing, and none of a gateway', async () => {
    const port = await start(3);
    const gateway = Array.from({ length: 8 }, () => open(port, GATEWAY));
    await Promise.all(gateway.map(async (socket) => once(socket, 'connect')));
    const strangers: Socket[] = [];
    for (let i = 0; i < 5; i++) {
      strangers.push(open(port, STRANGER));
      await once(strangers[i] as Socket, 'connect');
    }
    const closed = strangers.slice(0, 2).map(async (socket) => {
      socket.resume();
      if (!socket.closed) await once(socket, 'close');
    });
    await Promise.all(closed);

    for (const socket of [...gateway, ...strangers.slice(2)])
      expect(await authOver(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('closes the oldest connections of a peer that keeps too many', async () => {
    const port = await start(3);
    const strangers: Socket[] = [];
    for (let i = 0; i < 4; i++) {
      strangers.push(open(port, STRANGER));
      expect(await authOver(strangers[i] as Socket)).toMatch(/^HTTP\/1\.1 200 /);
    }
    const [oldest, ...others] = strangers as [Socket, ...Socket[]];
    if (!oldest.closed) await once(oldest.resume(), 'close');

    for (const socket of others) expect(await authOver(socket)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('counts connections with TLS, before and after their handshake', async () => {
    const port = await start(1, {
      cert: readFileSync(tlsFixture.certFile, 'utf8'),
      key: readFileSync(tlsFixture.keyFile, 'utf8'),
    });
    const secure = async (): Promise<Socket> => {
      const socket = connectTls({ socket: open(port, STRANGER), ca: tlsFixture.ca, host: '127.0.0.1' });
      socket.on('error', () => undefined);
      await once(socket, 'secureConnect');
      return socket;
    };
    const first = await secure();
    expect(await authOver(first)).toMatch(/^HTTP\/1\.1 200 /);
    const second = await secure();
    expect(await authOver(second)).toMatch(/^HTTP\/1\.1 200 /);
    if (!first.closed) await once(first.resume(), 'close');
    const silent = open(port, STRANGER);
    await once(silent, 'connect');
    open(port, STRANGER);
    if (!silent.closed) await once(silent.resume(), 'close');

    expect(await authOver(second)).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('has places for others while clients do not read their answers', async () => {
    const port = await start(100, undefined, 2);
    const socket = open(port, STRANGER).pause();
    socket.write('GET /large HTTP/1.1\r\nHost: a\r\n\r\n'.repeat(8));
    await until('all are answered', () => asked === 8);

    expect(await statusOf(port, '/auth')).toBe(200);
  });

  it('answers 503 to the oldest body of a client that has too many, and closes its connection', async () => {
    const port = await start(2);
    const strangers = [await beginRequest(port, STRANGER), await beginRequest(port, STRANGER)];
    const answer = text(strangers[0] as Socket);
    strangers.push(await beginRequest(port, STRANGER));

    expect(await answer).toMatch(/^HTTP\/1\.1 503 [^]*connection: close/i);
    strangers[1]?.write(BODY.slice(1));
    const [served] = (await once(strangers[1] as Socket, 'data')) as [Buffer];
    expect(served.toString()).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('bounds bodies through a gateway for each of its clients, and keeps the connections of the gateway', async () => {
    const port = await start(2);
    const of = (client: string): Promise<Socket> => beginRequest(port, GATEWAY, `X-Forwarded-For: ${client}\r\n`);
    const honest = await of('203.0.113.1');
    const oldest = await of('203.0.113.2');
    const answered = once(oldest, 'data') as Promise<[Buffer]>;
    await of('203.0.113.2');
    await of('203.0.113.2');

    const [answer] = await answered;
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 503 /);
    expect(answer.toString()).not.toMatch(/connection: close/i);
    oldest.write(BODY.slice(1));
    expect(await authOver(oldest)).toMatch(/^HTTP\/1\.1 200 /);
    honest.write(BODY.slice(1));
    const [served] = (await once(honest, 'data')) as [Buffer];
    expect(served.toString()).toMatch(/^HTTP\/1\.1 200 /);
  });
});
