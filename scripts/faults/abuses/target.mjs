import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { h2 } from './frames.mjs';

/** How long a client tries to write more: the service may never read it. */
const PATIENCE_MS = 500;

/** A connection of an attacker. */
class Line {
  #socket;
  #unread = Buffer.alloc(0);
  #ended = 0;
  #onData = () => undefined;
  isClosed = false;

  constructor(port, { reads }) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.on('error', () => undefined); // 'close' follows
    this.#socket.once('close', () => {
      this.isClosed = true;
      this.#onData();
    });
    if (reads) this.#socket.on('data', (chunk) => this.#count(chunk));
    else this.#socket.pause();
  }

  /** Waits until so many streams have been answered over this connection, or it is closed. */
  async answered(count) {
    while (this.#ended < count && !this.isClosed) await new Promise((resolve) => (this.#onData = resolve));
  }

  /** Counts the frames that end a stream. */
  #count(chunk) {
    this.#unread = this.#unread.length === 0 ? chunk : Buffer.concat([this.#unread, chunk]);
    while (this.#unread.length >= h2.HEAD_BYTES) {
      const end = h2.HEAD_BYTES + this.#unread.readUIntBE(0, 3);
      if (this.#unread.length < end) break;
      if (this.#unread[3] === h2.TYPE.headers && (this.#unread[4] & h2.END_STREAM) !== 0) this.#ended++;
      this.#unread = this.#unread.subarray(end);
    }
    this.#onData();
  }

  async connected() {
    await Promise.race([once(this.#socket, 'connect'), once(this.#socket, 'close')]).catch(() => undefined);
  }

  /** Writes, and waits until it has left, at most for a while. Returns whether more can be written. */
  async write(bytes) {
    if (this.isClosed) return false;
    const written = new Promise((resolve) => this.#socket.write(bytes, (error) => resolve(!error)));
    return Promise.race([written, sleep(PATIENCE_MS, false, { ref: false })]);
  }

  async end() {
    if (this.isClosed) return;
    const closed = once(this.#socket, 'close');
    this.#socket.destroy();
    await closed;
  }
}

/** The service that is attacked, until an instant of `performance.now()`. */
export class Target {
  #ports;
  #untilMs;
  #lines = new Set();

  constructor(ports, untilMs) {
    this.#ports = ports;
    this.#untilMs = untilMs;
  }

  get hasEnded() {
    return performance.now() >= this.#untilMs;
  }

  /**
   * Keeps this many connections open: makes another one where the service has closed one.
   *
   * @param use - Called with each connection, again and again as long as it returns true.
   */
  async keep(count, use, { reads = true, listener = 'grpc' } = {}) {
    const port = this.#ports[listener];
    await Promise.all(Array.from({ length: count }, () => this.#keepOne(port, use, reads)));
  }

  async #keepOne(port, use, reads) {
    while (!this.hasEnded) {
      const line = new Line(port, { reads });
      this.#lines.add(line);
      await line.connected();
      for (let round = 0; !this.hasEnded && !line.isClosed; round++) {
        if (!(await use(line, round))) break;
        await sleep(0);
      }
      while (!line.isClosed && !this.hasEnded) await sleep(20);
      this.#lines.delete(line);
      await line.end();
    }
  }

  async end() {
    await Promise.all([...this.#lines].map((line) => line.end()));
  }
}
