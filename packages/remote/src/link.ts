import { detached, type BatchAnswer, type CoalescedRequests } from '@sluice/old-core/spi';
import type { Socket } from 'node:net';
import { type Limit, type StoreAnswers, type StoreRequest, StoreError } from '@sluice/old-core';
import { answersFromJson } from './wire/answers.ts';
import { batchAnswerFromJson, batchToJson } from './wire/batches.ts';
import { failureFromJson, strangeAnswer } from './wire/failure.ts';
import {
  FRAME,
  FrameReader,
  MOST_FRAME_BYTES,
  MOST_LIMITS,
  readText,
  writeFrame,
  type FrameType,
} from './wire/frames.ts';
import { limitToJson } from './wire/limit.ts';
import { requestsToJson } from './wire/requests.ts';

/** The contents of a server's welcome. */
export interface Welcome {
  /** Whether the keys of different subjects live on different nodes there, which fail independently. */
  readonly hasNodes: boolean;
  /** Whether its store decides batches. */
  readonly hasBatches: boolean;
}

/** A call that was sent. */
interface PendingCall {
  /** @throws StoreError for a frame that does not answer the call. */
  readonly answer: (type: number, given: unknown) => void;
  readonly fail: (error: StoreError) => void;
}

/** More calls than this without a reply are not sent: a hung server holds no memory without end. */
const MOST_CALLS = 16_384;
/** More bytes than this that the server has not read are not added to. */
const MOST_UNREAD_BYTES = 8 * 1_048_576;
/** How often it is checked whether anything has arrived while calls wait. */
const CHECK_MS = 250;
/** The number of checks without a byte after which the server is pinged, and after which the connection is given up. */
const SILENT_BEFORE_PING = 2;
const SILENT_AT_END = 6;

/**
 * A connection that the server has welcomed: sends calls without waiting for the answers of earlier ones. Keeps the
 * process alive only while calls wait.
 */
export class Link {
  readonly welcome: Welcome;
  readonly #socket: Socket;
  readonly #name: string;
  readonly #onLeaving: () => void;
  readonly #onEnd: (error: Error) => void;
  readonly #calls = new Map<number, PendingCall>();
  #lastId = 0;
  #numbers = new WeakMap<Limit, number>();
  #limits = 0;
  #isLeft = false;
  #hasEnded = false;
  #silent = 0;
  #checks: NodeJS.Timeout | undefined;
  #isCorked = false;

  /**
   * @param socket - Without listeners.
   * @param onLeaving - Called when the server asks for the connection to be closed soon.
   * @param onEnd - Called once, when the connection has ended.
   */
  constructor(
    socket: Socket,
    name: string,
    welcome: Welcome,
    { onLeaving, onEnd }: { readonly onLeaving: () => void; readonly onEnd: (error: Error) => void },
  ) {
    this.#socket = socket;
    this.#name = name;
    this.welcome = welcome;
    this.#onLeaving = onLeaving;
    this.#onEnd = onEnd;
    const reader = new FrameReader(MOST_FRAME_BYTES, (type, id, text) => {
      this.#receive(type, id, text);
    });
    let trouble: Error | undefined;
    socket.on('data', (chunk: Buffer) => {
      this.#silent = 0;
      try {
        reader.push(chunk);
      } catch (error) {
        socket.destroy(error as Error);
      }
    });
    socket.on('error', (error) => (trouble = error));
    socket.on('close', () => {
      this.#end(trouble ?? new Error('the server closed the connection'));
    });
    socket.unref();
  }

  /** @throws StoreError when too much is in flight, or the requests do not fit into a frame. */
  perform(requests: readonly StoreRequest[], leftMs: number | undefined): Promise<StoreAnswers> {
    const write = (): readonly unknown[] => requestsToJson(requests, leftMs, this.#numberOf);
    return this.#call(FRAME.perform, FRAME.answers, write, (given) => answersFromJson(given, requests));
  }

  /** @throws StoreError as {@link perform} does. */
  performBatch(keys: readonly CoalescedRequests[], leftMs: number | undefined): Promise<BatchAnswer> {
    const write = (): readonly unknown[] => batchToJson(keys, leftMs, this.#numberOf);
    // The caller empties the list once it has given up.
    return this.#call(FRAME.batch, FRAME.batchAnswer, write, (given) =>
      keys.length === 0 ? { atMs: 0, keys: [] } : batchAnswerFromJson(given, keys),
    );
  }

  /** Closes the connection once all calls are answered. */
  leave(): void {
    this.#isLeft = true;
    this.#endIfIdle();
  }

  /** Closes the connection at once: calls in flight fail. */
  destroy(): void {
    this.#socket.destroy();
  }

  #call<Answer>(
    type: FrameType,
    expected: FrameType,
    write: () => readonly unknown[],
    read: (given: unknown) => Answer,
  ): Promise<Answer> {
    this.#checkRoom();
    this.#cork();
    if (this.#limits > MOST_LIMITS / 2) this.#forget(); // between calls, so that all numbers of a call are of one count
    const text = JSON.stringify(write());
    if (text.length > MOST_FRAME_BYTES / 3 && Buffer.byteLength(text) > MOST_FRAME_BYTES) {
      throw new StoreError(
        'SLUICE_STORE_FAILED',
        `the requests take more than the ${String(MOST_FRAME_BYTES)} bytes of a frame: send fewer at once`,
      );
    }
    const id = this.#newId();
    return new Promise((resolve, reject) => {
      this.#calls.set(id, {
        answer: (got, given) => {
          if (got !== expected) throw strangeAnswer('an answer to the call', given);
          resolve(read(given));
        },
        fail: reject,
      });
      if (this.#calls.size === 1) this.#socket.ref();
      this.#checks ??= detached(() => setTimeout(this.#check, CHECK_MS).unref());
      this.#socket.write(writeFrame(type, id, text));
    });
  }

  #checkRoom(): void {
    if (this.#hasEnded) throw this.#lost(new Error('it has ended'));
    if (this.#calls.size < MOST_CALLS && this.#socket.writableLength < MOST_UNREAD_BYTES) return;
    throw new StoreError(
      'SLUICE_STORE_FAILED',
      `${String(this.#calls.size)} calls to the server at ${this.#name} wait for its reply: no more are sent until it replies`,
      { kind: 'timeout' },
    );
  }

  #newId(): number {
    do this.#lastId = (this.#lastId + 1) >>> 0;
    while (this.#lastId === 0 || this.#calls.has(this.#lastId));
    return this.#lastId;
  }

  /** Joins the frames of one turn into one write. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    this.#socket.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      this.#socket.uncork();
    });
  }

  /** The number of a limit on this connection. A new one is sent first. */
  readonly #numberOf = (limit: Limit): number => {
    const known = this.#numbers.get(limit);
    if (known !== undefined) return known;
    if (this.#limits === MOST_LIMITS) {
      throw new StoreError('SLUICE_STORE_FAILED', `one call has at most ${String(MOST_LIMITS / 2)} different limits`);
    }
    const number = this.#limits++;
    this.#numbers.set(limit, number);
    this.#socket.write(writeFrame(FRAME.limit, number, JSON.stringify(limitToJson(limit))));
    return number;
  };

  #forget(): void {
    this.#numbers = new WeakMap();
    this.#limits = 0;
    this.#socket.write(writeFrame(FRAME.forget, 0, ''));
  }

  #receive(type: number, id: number, text: Buffer): void {
    if (type === FRAME.pong) return;
    if (type === FRAME.leaving) {
      this.#onLeaving();
      return;
    }
    if (type === FRAME.rejected) throw failureFromJson(readText(text)) ?? strangeAnswer('a reason', undefined);
    const call = this.#calls.get(id);
    if (call === undefined) throw strangeAnswer('a call that waits', id);
    this.#calls.delete(id);
    try {
      const given = readText(text);
      if (type === FRAME.failed) call.fail(failureFromJson(given) ?? strangeAnswer('a failure', given));
      else call.answer(type, given);
    } catch (error) {
      call.fail(error as StoreError);
    }
    if (this.#calls.size > 0) return;
    this.#socket.unref();
    this.#endIfIdle();
  }

  /** A timer that is late, because this process itself was stalled, counts as one check. */
  readonly #check = (): void => {
    this.#checks = undefined;
    if (this.#calls.size === 0 || this.#hasEnded) {
      this.#silent = 0;
      return;
    }
    this.#silent++;
    if (this.#silent === SILENT_AT_END) {
      this.#socket.destroy(new Error(`no reply in ${String(SILENT_AT_END * CHECK_MS)} ms`));
      return;
    }
    if (this.#silent === SILENT_BEFORE_PING) this.#socket.write(writeFrame(FRAME.ping, 0, ''));
    this.#checks = setTimeout(this.#check, CHECK_MS).unref();
  };

  #endIfIdle(): void {
    if (this.#isLeft && this.#calls.size === 0) this.#socket.end();
  }

  #end(error: Error): void {
    this.#hasEnded = true;
    clearTimeout(this.#checks);
    const lost = this.#lost(error);
    for (const call of this.#calls.values()) call.fail(lost);
    this.#calls.clear();
    this.#onEnd(error);
  }

  #lost(error: Error): StoreError {
    return new StoreError(
      'SLUICE_STORE_FAILED',
      `the connection to the server at ${this.#name} was lost (${error.message}); the request may have counted`,
      { cause: error, kind: 'connection' },
    );
  }
}
