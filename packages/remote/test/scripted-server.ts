import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { FRAME, FrameReader, readText, writeFrame, type FrameType } from '@sluice/remote/wire';
import { freePort } from '@sluice/testkit';

/** A frame that a client has sent. */
export interface SentFrame {
  readonly type: number;
  readonly id: number;
  readonly text: unknown;
  readonly socket: Socket;
  /** Answers on the same connection. */
  answer(type: FrameType, text: unknown, id?: number): void;
}

/** A server that answers as a test says. */
export interface ScriptedServer {
  readonly url: string;
  readonly port: number;
  readonly sockets: ReadonlySet<Socket>;
  /** How many connections there have been. */
  readonly accepted: number;
  /** Every frame but hellos that were welcomed. */
  readonly frames: readonly SentFrame[];
  /** Stops listening, and ends every connection. */
  close(): Promise<void>;
}

export const WELCOME = { protocol: 2, hasNodes: false, hasBatches: true };

/**
 * @param onFrame - Called with each frame. Hellos are welcomed before, unless it returns true.
 */
export async function startScripted(onFrame: (frame: SentFrame) => unknown, port?: number): Promise<ScriptedServer> {
  const sockets = new Set<Socket>();
  const frames: SentFrame[] = [];
  let accepted = 0;
  const server = createServer((socket) => {
    accepted++;
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
    socket.on('error', () => undefined);
    const reader = new FrameReader(1_048_576, (type, id, text) => {
      const answer: SentFrame['answer'] = (answerType, given, to = id) => {
        socket.write(writeFrame(answerType, to, JSON.stringify(given)));
      };
      const frame = { type, id, text: text.length === 0 ? undefined : readText(text), socket, answer };
      const isHandled = onFrame(frame) === true;
      if (type === FRAME.hello && !isHandled) answer(FRAME.welcome, WELCOME);
      else frames.push(frame);
    });
    socket.on('data', (chunk: Buffer) => {
      reader.push(chunk);
    });
  });
  const bound = port ?? (await freePort());
  server.listen(bound, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `sluice://127.0.0.1:${String(bound)}`,
    port: bound,
    sockets,
    frames,
    get accepted() {
      return accepted;
    },
    async close() {
      const closing = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closing;
    },
  };
}
