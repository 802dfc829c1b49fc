import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A connection that writes bytes, and may not read. */
export class Attacker {
  readonly socket: Socket;
  readonly closed: Promise<void>;
  receivedBytes = 0;
  isClosed = false;

  private constructor(port: number, reads: boolean) {
    // Not the address of the clients that others are.
    this.socket = connect({ port, host: '127.0.0.1', localAddress: '127.0.0.2', noDelay: true });
    this.socket.on('error', () => undefined); // 'close' follows
    this.closed = new Promise((resolve) => {
      this.socket.once('close', () => {
        this.isClosed = true;
        resolve();
      });
    });
    if (reads) {
      this.socket.on('data', ({ length }: Buffer) => (this.receivedBytes += length));
    } else this.socket.pause();
  }

  static async connect(port: number, { reads = true } = {}): Promise<Attacker> {
    const attacker = new Attacker(port, reads);
    await once(attacker.socket, 'connect');
    return attacker;
  }

  /**
   * Writes, and waits until the service has taken it: at most this long, because it may never.
   *
   * @returns Whether it has.
   */
  async write(bytes: Uint8Array, longestMs = 10_000): Promise<boolean> {
    if (this.isClosed) return false;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<boolean>((resolve) => {
      timer = setTimeout(() => {
        resolve(false);
      }, longestMs);
    });
    const written = new Promise<boolean>((resolve) => {
      this.socket.write(bytes, (error) => {
        resolve(error === undefined || error === null);
      });
    });
    const isWritten = await Promise.race([written, late, this.closed.then(() => false)]);
    clearTimeout(timer);
    return isWritten;
  }

  close(): void {
    this.socket.destroy();
  }
}
