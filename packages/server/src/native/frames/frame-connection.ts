import type { Socket } from 'node:net';
import { StoreError } from '@sluice/core';
import {
  FRAME,
  FrameError,
  FrameReader,
  MOST_FRAME_BYTES,
  PROTOCOL,
  failureToJson,
  readText,
  writeFrame,
} from '@sluice/remote/wire';
import type { Entrance } from '../../access.ts';
import type { Service } from '../../service.ts';
import { FrameCalls } from './frame-calls.ts';
import { ConnectionLimits } from './shared-limits.ts';
import { StoreCalls } from './store-calls.ts';

/** How long a client may take to say who it is. */
const HELLO_MS = 5_000;
const MOST_HELLO_BYTES = 8_192;
/** Above this number of requests in flight the connection is not read, until half of them are answered. */
const MOST_IN_FLIGHT = 8_192;
/** Above this number of bytes that the client has not read, the connection is not read either. */
const MOST_UNREAD_BYTES = 1_048_576;
/** What Node reads at once from a socket at most: there is more. */
const FULL_READ = 65_536;
/** How long a client may leave them unread. */
const UNREAD_MS = 10_000;
/** How long a client has to read the last of what it was sent. */
const LAST_MS = 1_000;
/**
 * How long a client may still call that was told to leave: it connects to another server meanwhile, if there is one.
 */
const LEAVING_MS = 1_000;

/** One connection of a `remoteStore`. Whatever a client sends, it is bounded, and fails this connection alone. */
export class FrameConnection {
  readonly #socket: Socket;
  readonly #service: Service;
  readonly #entrance: Entrance;
  readonly #welcomed: () => void;
  readonly #limits: ConnectionLimits;
  readonly #calls: FrameCalls;
  readonly #reader: FrameReader;
  readonly #welcome: object;
  #state: 'new' | 'welcome' | 'ended' = 'new';
  #isCorked = false;
  /** Whether no more calls are read: the connection ends with the last answer. */
  #isLeaving = false;
  #leavingTimer: NodeJS.Timeout | undefined;
  /** Ends a client that says or reads nothing. */
  #timer: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;

  /** @param welcomed - Called once the client has said who it is, and may call. */
  constructor(socket: Socket, service: Service, entrance: Entrance, welcomed: () => void) {
    const calls = StoreCalls.of(service.store);
    this.#socket = socket;
    this.#service = service;
    this.#entrance = entrance;
    this.#welcomed = welcomed;
    const { store } = calls;
    this.#welcome = { protocol: PROTOCOL, hasNodes: store.hasNodes, hasBatches: store.performBatch !== undefined };
    this.#limits = new ConnectionLimits(service.store);
    this.#calls = new FrameCalls(calls, this.#limits, service.timeoutMs, (type, id, answer) => {
      this.#write(writeFrame(type, id, JSON.stringify(answer)));
      if (this.#isLeaving) this.#endIfAnswered();
      else this.#resume();
    });
    this.#reader = new FrameReader(MOST_HELLO_BYTES, (type, id, text) => {
      if (this.#state !== 'ended') this.#receive(type, id, text);
    });
    this.#endIn(HELLO_MS);
    socket.setNoDelay(true);
    socket.on('data', (chunk: Buffer) => {
      this.#read(chunk);
    });
    socket.on('drain', () => {
      this.#endIn(undefined);
      this.#resume();
    });
    socket.on('error', () => undefined); // closing follows
    socket.on('close', () => {
      this.#ended();
    });
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#reject(new StoreError('SLUICE_STORE_FAILED', `the server closes the connection: ${why}`));
    }
    if (this.#calls.inFlight > MOST_IN_FLIGHT) this.#socket.pause();
    else if (chunk.length >= FULL_READ) this.#letOthers();
  }

  /** Reads on after the other connections: Node would read this one 32 times in a row. */
  #letOthers(): void {
    this.#socket.pause();
    setImmediate(() => {
      this.#resume();
    });
  }

  #receive(type: number, id: number, text: Buffer): void {
    if (this.#state === 'new' && type !== FRAME.hello) throw new FrameError('the first frame is a hello');
    switch (type) {
      case FRAME.hello:
        this.#hello(text);
        break;
      case FRAME.limit:
        this.#limits.add(id, text);
        break;
      case FRAME.forget:
        this.#limits.clear();
        break;
      case FRAME.perform:
        this.#calls.perform(id, text);
        break;
      case FRAME.batch:
        this.#calls.performBatch(id, text);
        break;
      case FRAME.ping:
        this.#write(writeFrame(FRAME.pong, id, ''));
        break;
      default:
        throw new FrameError(`there is no frame of type ${String(type)}`);
    }
  }

  #hello(text: Buffer): void {
    if (this.#state !== 'new') throw new FrameError('a connection has one hello');
    const { protocol, token } = (readText(text) ?? {}) as Readonly<Record<string, unknown>>;
    const rejection = this.#rejectionOf(protocol, token);
    if (rejection !== undefined) {
      this.#reject(rejection);
      return;
    }
    this.#endIn(undefined);
    this.#state = 'welcome';
    this.#welcomed();
    this.#reader.mostBytes = MOST_FRAME_BYTES;
    this.#write(writeFrame(FRAME.welcome, 0, JSON.stringify(this.#welcome)));
    const { health } = this.#service;
    this.#unwatch = health.watch(() => {
      if (!health.isServing) this.#leave();
    });
  }

  /** Tells the client to leave. Requests within a second are answered; then the connection ends. */
  #leave(): void {
    this.#write(writeFrame(FRAME.leaving, 0, ''));
    this.#leavingTimer ??= setTimeout(() => {
      this.#isLeaving = true;
      this.#socket.pause();
      this.#endIfAnswered();
    }, LEAVING_MS).unref();
  }

  #endIfAnswered(): void {
    if (this.#calls.inFlight === 0 && this.#state !== 'ended') this.#endSoon();
  }

  #rejectionOf(protocol: unknown, token: unknown): StoreError | undefined {
    const authorization = typeof token === 'string' ? `Bearer ${token}` : undefined;
    if (!this.#service.access.allows(this.#entrance, authorization)) {
      const why = token === undefined ? 'this listener takes only clients with a token' : 'the token is wrong';
      const instead = 'write remoteStore(url, { token }), with the token of the service';
      return new StoreError('SLUICE_STORE_FAILED', `${why}: ${instead}`, { kind: 'denied' });
    }
    if (protocol !== PROTOCOL) {
      const versions = `the server speaks version ${String(PROTOCOL)} of the protocol, and the client another one`;
      return new StoreError('SLUICE_STORE_FAILED', `${versions}: run the same release on both sides`);
    }
    if (this.#service.health.isServing) return undefined;
    const kind = 'connection';
    return new StoreError('SLUICE_STORE_FAILED', 'the server does not serve now: it starts, or shuts down', { kind });
  }

  /** Writes why, and closes the connection. */
  #reject(why: StoreError): void {
    if (this.#state === 'ended') return;
    this.#write(writeFrame(FRAME.rejected, 0, JSON.stringify(failureToJson(why))));
    this.#endSoon();
  }

  /** Closes the connection once the client has what was written. Frames that arrive until then are dropped. */
  #endSoon(): void {
    const socket = this.#socket;
    this.#ended();
    socket.removeAllListeners('data').removeAllListeners('drain');
    socket.resume(); // bytes that are not read would turn the end into a reset, and the last frames would be lost
    socket.end();
    this.#endIn(LAST_MS);
  }

  /** Joins the frames of one turn into one write. */
  #write(frame: Buffer): void {
    const socket = this.#socket;
    if (this.#state === 'ended' || !socket.writable) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      socket.cork();
      process.nextTick(() => {
        this.#isCorked = false;
        socket.uncork();
      });
    }
    socket.write(frame);
    if (socket.writableLength <= MOST_UNREAD_BYTES) return;
    socket.pause();
    if (this.#timer === undefined) this.#endIn(UNREAD_MS);
  }

  #resume(): void {
    const socket = this.#socket;
    if (!socket.isPaused() || this.#isLeaving || this.#state === 'ended') return;
    if (this.#calls.inFlight <= MOST_IN_FLIGHT / 2 && socket.writableLength <= MOST_UNREAD_BYTES) socket.resume();
  }

  #endIn(ms: number | undefined): void {
    clearTimeout(this.#timer);
    this.#timer = ms === undefined ? undefined : setTimeout(() => this.#socket.destroy(), ms).unref();
  }

  #ended(): void {
    this.#endIn(undefined);
    clearTimeout(this.#leavingTimer);
    this.#state = 'ended';
    this.#unwatch?.();
    this.#limits.clear();
  }
}
