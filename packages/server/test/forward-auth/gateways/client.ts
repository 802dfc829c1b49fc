import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

export interface Sent {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  /** An address of the loopback. */
  readonly from?: string;
}

export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly body: string;
}

/** Sends one request over a connection of its own. */
export async function send(port: number, { method, path = '/', headers, body, from }: Sent = {}): Promise<Answer> {
  const sent = request({
    ...{ host: '127.0.0.1', port, agent: false, method: method ?? 'GET', path },
    headers: { ...headers } as Record<string, string | string[]>,
    ...(from === undefined ? {} : { localAddress: from }),
  });
  sent.end(body);
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  const fields = Object.entries(answer.headersDistinct).map(
    ([name, values = []]) => [name, values.join(', ')] as const,
  );
  return { status: answer.statusCode ?? 0, headers: Object.fromEntries(fields), body: await text(answer) };
}

/** The statuses of equal requests, one after the other. */
export async function statusesOf(port: number, count: number, sent: Sent = {}): Promise<number[]> {
  const statuses: number[] = [];
  for (let i = 0; i < count; i++) statuses.push((await send(port, sent)).status);
  return statuses;
}

/** What a server sends to these bytes until it ends the connection, however it ends it. */
export async function exchangeBytes(port: number, bytes: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  let received = '';
  socket.setEncoding('latin1').on('data', (piece: string) => (received += piece));
  socket.on('error', () => {}); // a server may reset a connection whose bytes it does not read
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return received;
}

/** The statuses in what a server has sent. */
export function statusesIn(received: string): number[] {
  return [...received.matchAll(/HTTP\/1\.[01] (\d{3}) ?/g)].map(([, status]) => Number(status));
}
