import { once } from 'node:events';
import { connect, type ClientHttp2Session, type ClientHttp2Stream } from 'node:http2';
import type { Socket } from 'node:net';
import { open } from '../raw-http.ts';
import { header, type AnyRequest, type Route } from './adapter.ts';
import { send } from './http-client.ts';
import type { Suite } from './suite.ts';

export const GET = 'GET /items HTTP/1.1\r\nHost: test\r\n\r\n';

/** A connection over which this was sent. */
export async function begin(port: number, bytes: string = GET): Promise<Socket> {
  const socket = await open(port);
  socket.write(bytes);
  return socket;
}

/** Resets it. */
export async function leave(socket: Socket): Promise<void> {
  const closed = once(socket, 'close');
  socket.resetAndDestroy();
  await closed;
}

/** A route for {@link pings}, which asks for no limit where `skip` is {@link isPing}. */
export const ping: Route = { method: 'GET', path: '/ping', handle: () => ({ body: 'pong' }) };

export function isPing(request: AnyRequest): boolean {
  return header(request, 'x-ping') === 'yes';
}

/** When another connection has its response, the server has noticed what happened to those before. */
export async function pings({ port }: { readonly port: number }, count = 3): Promise<void> {
  for (let i = 0; i < count; i++) await send(port, { path: '/ping', headers: { 'X-Ping': 'yes' } });
}

/** A session of HTTP/2, which ends with the test. */
export async function http2Session(suite: Suite, port: number): Promise<ClientHttp2Session> {
  const session = connect(`http://127.0.0.1:${String(port)}`);
  session.on('error', () => {});
  suite.atEnd(async () => {
    if (session.closed) return;
    const closed = once(session, 'close');
    session.destroy();
    await closed;
  });
  await once(session, 'connect');
  return session;
}

/** The status of a response over HTTP/2, once it has ended. */
export async function statusOf(stream: ClientHttp2Stream): Promise<number> {
  const [headers] = (await once(stream, 'response')) as [{ ':status': number }];
  stream.resume();
  await once(stream, 'close');
  return headers[':status'];
}
