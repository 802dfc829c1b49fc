import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Served } from '../serve.ts';
import { readAnswer, type Answer } from './frames.ts';

/** A client that sends bytes as they are, and keeps every answer. */
export class SentinelClient {
  readonly socket: Socket;
  readonly answers: Answer[] = [];
  /** The bytes of the answers. */
  received: Buffer = Buffer.alloc(0);
  #rest: Buffer = Buffer.alloc(0);

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.#read(chunk);
    });
  }

  static async connect(served: Served): Promise<SentinelClient> {
    const socket = connect(served.port('sentinel'), '127.0.0.1');
    const client = new SentinelClient(socket);
    await once(socket, 'connect');
    return client;
  }

  /** Sends messages, and waits for as many answers. */
  async ask(...messages: readonly Buffer[]): Promise<readonly Answer[]> {
    const from = this.answers.length;
    this.socket.write(Buffer.concat(messages));
    while (this.answers.length < from + messages.length) await once(this.socket, 'data');
    return this.answers.slice(from);
  }

  /** The status of the only answer to a message. */
  async status(message: Buffer): Promise<number | undefined> {
    const [answer] = await this.ask(message);
    return answer?.status;
  }

  #read(chunk: Buffer): void {
    let bytes = Buffer.concat([this.#rest, chunk]);
    while (bytes.length >= 2 && bytes.length >= 2 + bytes.readUInt16BE(0)) {
      const end = 2 + bytes.readUInt16BE(0);
      this.answers.push(readAnswer(bytes.subarray(2, end)));
      bytes = bytes.subarray(end);
    }
    this.#rest = bytes;
  }
}
