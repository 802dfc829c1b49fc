import type { Socket } from 'node:net';

/** Above this number of bytes that the client has not read, the connection is not read either. */
const MOST_UNREAD_BYTES = 1_048_576;
/** What Node reads at once from a socket at most: there is more. */
const FULL_READ = 65_536;
/** How long a client may leave them unread. */
const UNREAD_MS = 10_000;
/** How long a client has to read the last of what it was sent. */
const LAST_MS = 1_000;

/** What a protocol does with a connection. */
export interface PipelinedProtocol {
  /** Above this number of requests in flight the connection is not read, until half of them are answered. */
  readonly mostInFlight: number;
  /** Requests that are not answered. */
  inFlight(): number;
  /** Takes bytes of the client. Not called once the connection has ended. */
  read(chunk: Buffer): void;
  /** Called once, when the connection has ended or is about to. */
  ended(): void;
}

/**
 * A connection of which the client sends requests without waiting for answers. It is bounded: in requests that wait,
 * in bytes that the client does not read, and in the time for that.
 */
export class PipelinedSocket {
  readonly #socket: Socket;
  readonly #protocol: PipelinedProtocol;
  #isEnded = false;
  #isCorked = false;
  /** Whether nothing more is read, whatever was answered. */
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(socket: Socket, protocol: PipelinedProtocol) {
    this.#socket = socket;
    this.#protocol = protocol;
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      protocol.read(chunk);
      if (this.#isEnded) return;
      if (protocol.inFlight() > protocol.mostInFlight) socket.pause();
      else if (chunk.length >= FULL_READ) this.#letOthers();
    });
    socket.on('drain', () => {
      this.endIn(undefined);
      this.resume();
    });
    socket.on('error', () => undefined); // closing follows
    socket.on('close', () => {
      this.#end();
    });
  }

  get isEnded(): boolean {
    return this.#isEnded;
  }

  /** Joins what is written in one turn into one write. Writes nothing once the connection has ended. */
  write(bytes: Buffer): void {
    const socket = this.#socket;
    if (this.#isEnded || !socket.writable) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        socket.uncork();
      });
    }
    socket.write(bytes);
    if (socket.writableLength <= MOST_UNREAD_BYTES) return;
    socket.pause();
    if (this.#timer === undefined) this.endIn(UNREAD_MS);
  }

  /** Reads on, where few enough requests are in flight and bytes unread. */
  resume(): void {
    const { mostInFlight } = this.#protocol;
    const socket = this.#socket;
    if (!socket.isPaused() || this.#isHeld || this.#isEnded) return;
    if (this.#protocol.inFlight() <= mostInFlight / 2 && socket.writableLength <= MOST_UNREAD_BYTES) socket.resume();
  }

  /** Reads on after the other connections: Node would read this one 32 times in a row. */
  #letOthers(): void {
    this.#socket.pause();
    setImmediate(() => {
      this.resume();
    });
  }

  /** Reads no more. */
  hold(): void {
    this.#isHeld = true;
    this.#socket.pause();
  }

  /** Cuts the connection in `ms`; undefined: not any more. */
  endIn(ms: number | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = ms === undefined ? undefined : setTimeout(() => this.#socket.destroy(), ms).unref();
  }

  /** Closes the connection once the client has what was written. Bytes that arrive until then are dropped. */
  endSoon(): void {
    const socket = this.#socket;
    this.#end();
    socket.removeAllListeners('data').removeAllListeners('drain');
    socket.resume(); // bytes that are not read would turn the end into a reset, and the last answers would be lost
    socket.end();
    this.endIn(LAST_MS);
  }

  #end(): void {
    this.endIn(undefined);
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#protocol.ended();
  }
}
