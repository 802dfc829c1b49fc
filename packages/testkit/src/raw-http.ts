import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { Http2Server, ServerHttp2Session } from 'node:http2';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** A server that listens on 127.0.0.1. */
export interface Listening {
  readonly port: number;
  /** With all connections. */
  readonly close: () => Promise<void>;
}

/** Serves on a free port. */
export async function listen(app: RequestListener | Server | Http2Server): Promise<Listening> {
  const server = typeof app === 'function' ? createServer(app) : app;
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session: ServerHttp2Session) => sessions.add(session));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const session of sessions) session.destroy();
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** A connection over which nothing has been sent. */
export async function open(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  return socket;
}

/** Everything until the other side ends; the last request must have `Connection: close`. */
export async function received(socket: Socket): Promise<string> {
  let text = '';
  socket.setEncoding('latin1');
  for await (const chunk of socket) text += chunk as string;
  return text;
}

/** Sends these bytes, and resolves to the whole response. */
export async function exchange(port: number, bytes: string): Promise<string> {
  const socket = await open(port);
  const answer = received(socket);
  socket.write(bytes);
  return answer;
}

/** The status of every answer, in order. */
export function statuses(text: string): number[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
}
