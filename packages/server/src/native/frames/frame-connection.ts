import type { Socket } from 'node:net';
import { StoreError } from '@sluice/old-core';
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
import { PipelinedSocket } from '../../transport/pipelined-socket.ts';
import { FrameCalls } from './frame-calls.ts';
import { ConnectionLimits } from './shared-limits.ts';
import { StoreCalls } from './store-calls.ts';

/** How long a client may take to say who it is. */
const HELLO_MS = 5_000;
const MOST_HELLO_BYTES = 8_192;
/** Above this number of requests in flight the connection is not read, until half of them are answered. */
const MOST_IN_FLIGHT = 8_192;
/**
 * How long a client may still call that was told to leave: it connects to another server meanwhile, if there is one.
 */
const LEAVING_MS = 1_000;

/** One connection of a `remoteStore`. Whatever a client sends, it is bounded, and fails this connection alone. */
export class FrameConnection {
  readonly #socket: PipelinedSocket;
  readonly #service: Service;
  readonly #entrance: Entrance;
  readonly #welcomed: () => void;
  readonly #limits: ConnectionLimits;
  readonly #calls: FrameCalls;
  readonly #reader: FrameReader;
  readonly #welcome: object;
  #isWelcome = false;
  /** Whether no more calls are read: the connection ends with the last answer. */
  #isLeaving = false;
  #leavingTimer: NodeJS.Timeout | undefined;
  #unwatch: (() => void) | undefined;

  /** @param welcomed - Called once the client has said who it is, and may call. */
  constructor(socket: Socket, service: Service, entrance: Entrance, welcomed: () => void) {
    const calls = StoreCalls.of(service.store);
    this.#service = service;
    this.#entrance = entrance;
    this.#welcomed = welcomed;
    const { store } = calls;
    this.#welcome = { protocol: PROTOCOL, hasNodes: store.hasNodes, hasBatches: store.performBatch !== undefined };
    this.#limits = new ConnectionLimits(service.store);
    this.#calls = new FrameCalls(calls, this.#limits, service.timeoutMs, (type, id, answer) => {
      this.#socket.write(writeFrame(type, id, JSON.stringify(answer)));
      if (this.#isLeaving) this.#endIfAnswered();
      else this.#socket.resume();
    });
    this.#reader = new FrameReader(MOST_HELLO_BYTES, (type, id, text) => {
      if (!this.#socket.isEnded) this.#receive(type, id, text);
    });
    this.#socket = new PipelinedSocket(socket, {
      mostInFlight: MOST_IN_FLIGHT,
      inFlight: () => this.#calls.inFlight,
      read: (chunk) => {
        this.#read(chunk);
      },
      ended: () => {
        this.#ended();
      },
    });
    this.#socket.endIn(HELLO_MS);
  }

  #read(chunk: Buffer): void {
    try {
      this.#reader.push(chunk);
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      this.#reject(new StoreError('SLUICE_STORE_FAILED', `the server closes the connection: ${why}`));
    }
  }

  #receive(type: number, id: number, text: Buffer): void {
    if (!this.#isWelcome && type !== FRAME.hello) throw new FrameError('the first frame is a hello');
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
        this.#socket.write(writeFrame(FRAME.pong, id, ''));
        break;
      default:
        throw new FrameError(`there is no frame of type ${String(type)}`);
    }
  }

  #hello(text: Buffer): void {
    if (this.#isWelcome) throw new FrameError('a connection has one hello');
    const { protocol, token } = (readText(text) ?? {}) as Readonly<Record<string, unknown>>;
    const rejection = this.#rejectionOf(protocol, token);
    if (rejection !== undefined) {
      this.#reject(rejection);
      return;
    }
    this.#socket.endIn(undefined);
    this.#isWelcome = true;
    this.#welcomed();
    this.#reader.mostBytes = MOST_FRAME_BYTES;
    this.#socket.write(writeFrame(FRAME.welcome, 0, JSON.stringify(this.#welcome)));
    const { health } = this.#service;
    this.#unwatch = health.watch(() => {
      if (!health.isServing) this.#leave();
    });
  }

  /** Tells the client to leave. Requests within a second are answered; then the connection ends. */
  #leave(): void {
    this.#socket.write(writeFrame(FRAME.leaving, 0, ''));
    this.#leavingTimer ??= setTimeout(() => {
      this.#isLeaving = true;
      this.#socket.hold();
      this.#endIfAnswered();
    }, LEAVING_MS).unref();
  }

  #endIfAnswered(): void {
    if (this.#calls.inFlight === 0 && !this.#socket.isEnded) this.#socket.endSoon();
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
    if (this.#socket.isEnded) return;
    this.#socket.write(writeFrame(FRAME.rejected, 0, JSON.stringify(failureToJson(why))));
    this.#socket.endSoon();
  }

  #ended(): void {
    clearTimeout(this.#leavingTimer);
    this.#unwatch?.();
    this.#limits.clear();
  }
}
