import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fixedWindow, type Limit } from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { limitToJson, FRAME, FrameReader, readText, writeFrame, type FrameType } from '@sluice/remote/wire';

const named = namePolicies(fixedWindow({ limit: 1_000_000, window: '1h' }), 'raw');

export const rawLimit: Limit = { policies: named, keySuffix: keySuffixOf('raw', named), fastPathEligible: true };

/** A client that writes its frames itself. */
export interface RawClient {
  readonly socket: Socket;
  readonly frames: readonly { readonly type: number; readonly id: number; readonly text: unknown }[];
  send(type: FrameType, id: number, text: unknown): void;
  /** The first frame of a type, once it has come. */
  next(type: FrameType): Promise<unknown>;
  readonly closed: Promise<unknown>;
}

/** In place of a hello: none is sent. */
export const NO_HELLO: unique symbol = Symbol('no hello');

export async function rawClient(port: number, hello: unknown = { protocol: 2 }): Promise<RawClient> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const frames: { type: number; id: number; text: unknown }[] = [];
  let received = (): void => undefined;
  const reader = new FrameReader(4 * 1_048_576, (type, id, text) => {
    frames.push({ type, id, text: text.length === 0 ? undefined : readText(text) });
    received();
  });
  socket.on('data', (chunk: Buffer) => {
    reader.push(chunk);
  });
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  const send: RawClient['send'] = (type, id, text) => {
    socket.write(writeFrame(type, id, typeof text === 'string' ? text : JSON.stringify(text)));
  };
  if (hello !== NO_HELLO) send(FRAME.hello, 0, hello);
  return {
    socket,
    frames,
    send,
    closed,
    async next(type) {
      for (;;) {
        const found = frames.find((frame) => frame.type === type);
        if (found !== undefined) return found.text;
        await new Promise<void>((resolve) => (received = resolve));
      }
    },
  };
}

/** A client that may call, and has named {@link rawLimit} as 0. */
export async function welcomedClient(port: number, hello?: unknown): Promise<RawClient> {
  const client = await rawClient(port, hello);
  await client.next(FRAME.welcome);
  client.send(FRAME.limit, 0, limitToJson(rawLimit));
  return client;
}
