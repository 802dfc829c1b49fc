import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { send } from '../http-client.ts';
import { open } from '../raw-http.ts';
import { header, type AnyRequest, type Handle } from './adapter.ts';
import { gate } from '../gate.ts';
import type { Server, Stage } from './stage.ts';

/** The bytes of a request for the usual route. */
export function makeBytes(...lines: readonly string[]): string {
  return ['GET /items HTTP/1.1', 'Host: test', ...lines, '', ''].join('\r\n');
}

/** A connection over which these bytes were sent. */
export async function begin(port: number, bytes: string = makeBytes()): Promise<Socket> {
  const socket = await open(port);
  socket.on('error', () => undefined);
  socket.write(bytes);
  return socket;
}

/** Resets it. */
export async function leave(socket: Socket): Promise<void> {
  const closed = once(socket, 'close');
  socket.resetAndDestroy();
  await closed;
}

/** A client that makes one request. */
export interface Visit {
  /** Resolves when its answer begins. */
  readonly answered: () => Promise<unknown>;
  /** Resets its connection, or its stream. */
  readonly leave: () => Promise<void>;
}

/** Begins a request over its own connection or, with HTTP/2, over a stream of the session that all visits share. */
export async function visit(stage: Stage, server: Server, headers: Record<string, string> = {}): Promise<Visit> {
  if (stage.way !== 'over HTTP/2') {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    const socket = await begin(server.port, makeBytes(...lines));
    return { answered: () => once(socket, 'data'), leave: () => leave(socket) };
  }
  const asked = stream(await openSession(stage, server), headers);
  const closed = once(asked, 'close');
  return {
    answered: () => once(asked, 'data'),
    async leave() {
      asked.resume().close(8);
      await closed;
    },
  };
}

const sessions = new WeakMap<Server, ClientHttp2Session>();

/** An HTTP/2 session with a server, which ends with the scenario. */
export async function openSession(stage: Stage, server: Server): Promise<ClientHttp2Session> {
  const known = sessions.get(server);
  if (known !== undefined) return known;
  const session = connect(`http://127.0.0.1:${String(server.port)}`);
  sessions.set(server, session);
  session.on('error', () => {});
  stage.atEnd(async () => {
    const closed = once(session, 'close');
    session.destroy();
    await closed;
  });
  await once(session, 'connect');
  return session;
}

/** A request in a session, which may be denied before its body is complete. */
export function stream(session: ClientHttp2Session, headers: Record<string, string> = {}): ClientHttp2Stream {
  const asked = session.request({ ':path': '/items', 'content-type': 'application/json', ...headers });
  asked.on('error', () => {});
  return asked;
}

/** For the option `skip`: whether a request is one of {@link pings}. */
export function isPing(request: AnyRequest): boolean {
  return header(request, 'x-ping') === 'yes';
}

/** When another connection has its response, the server has noticed what happened to those before. */
export async function pings({ port }: { readonly port: number }, count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await send(port, { path: '/nowhere', headers: { 'X-Ping': 'yes' } });
}

/** Whether a request asks its handler to wait. */
export function isHeld(request: AnyRequest): boolean {
  return header(request, 'x-held') === 'yes';
}

/** A handler that waits until `open` is called. */
export function waiting(
  body = 'hello',
  waits: (call: AnyRequest) => boolean = () => true,
): { readonly handle: Handle; readonly open: () => void } {
  const { opened, open } = gate();
  const handle: Handle = async (call) => {
    if (waits(call)) await opened;
    await new Promise(setImmediate); // so that handlers that may not run together would be seen together
    return { body };
  };
  return { handle, open };
}
