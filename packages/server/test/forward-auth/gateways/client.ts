import { once } from 'node:events';
import { connect } from 'node:net';
import { send, type Sent } from '../../send.ts';

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
