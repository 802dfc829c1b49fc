/**
 * Frames of the native protocol: the length of what follows (4 bytes), a type (1), the number of a call (4), and a text
 * in JSON. Numbers are big-endian. JSON keeps strings with lone surrogates, and its numbers are exact up to 2^53.
 */
export const FRAME = {
  /** From the client, once and first: the version of the protocol, and the token. */
  hello: 1,
  /** A limit, and the number by which the following frames name it. */
  limit: 2,
  /** The numbers of limits begin again. */
  forget: 3,
  /** The operations of `Store.perform`. */
  perform: 4,
  /** The requests of `BatchStore.performBatch`. */
  batch: 5,
  ping: 6,
  /** From the server, to `hello`: from now on it takes calls. */
  welcome: 33,
  /** From the server: why it takes no calls, or no more calls. It closes the connection. */
  rejected: 34,
  /** From the server: it takes calls until the client closes the connection, which is to happen soon. */
  leaving: 35,
  answers: 36,
  batchAnswer: 37,
  /** The whole call failed. */
  failed: 38,
  pong: 39,
} as const;

export type FrameType = (typeof FRAME)[keyof typeof FRAME];

/** The version of the protocol that this release speaks. */
export const PROTOCOL = 2;
/** The longest text of a frame, in bytes. */
export const MOST_FRAME_BYTES = 1_048_576;
/** How many limits a connection names at once: the client begins again after so many. */
export const MOST_LIMITS = 4096;
/** The most requests that a frame counts together: see `CoalescedRequests.runs`. */
export const MOST_COUNTED = 262_144;

const HEADER = 9;
const LENGTH = 4;
const AFTER_LENGTH = HEADER - LENGTH;

/** The received bytes are not a frame of this protocol. */
export class FrameError extends Error {
  override readonly name = 'FrameError';
}

/** @param id - The number of the call, below 2^32; 0 for frames that belong to none. */
export function writeFrame(type: FrameType, id: number, text: string): Buffer {
  const bytes = Buffer.byteLength(text);
  const frame = Buffer.allocUnsafe(HEADER + bytes);
  frame.writeUInt32BE(AFTER_LENGTH + bytes, 0);
  frame[LENGTH] = type;
  frame.writeUInt32BE(id, LENGTH + 1);
  frame.write(text, HEADER);
  return frame;
}

/** Cuts a stream of bytes into frames. Holds at most one frame that is not complete. */
export class FrameReader {
  /** The longest text that is taken, in bytes. May be raised between two frames. */
  mostBytes: number;
  readonly #receive: (type: number, id: number, text: Buffer) => void;
  /** The bytes received of an incomplete frame. */
  #chunks: Buffer[] = [];
  #held = 0;
  /** How many bytes make the next step possible: a header, or a whole frame. */
  #needed = HEADER;

  constructor(mostBytes: number, receive: (type: number, id: number, text: Buffer) => void) {
    this.mostBytes = mostBytes;
    this.#receive = receive;
  }

  /**
   * Takes the next bytes. The receiver's texts are parts of them, so it reads a text at once.
   *
   * @throws FrameError for a frame that is too long or too short, and what the receiver throws.
   */
  push(chunk: Buffer): void {
    if (this.#held === 0) {
      this.#take(chunk);
      return;
    }
    this.#chunks.push(chunk);
    this.#held += chunk.length;
    if (this.#held < this.#needed) return;
    const bytes = Buffer.concat(this.#chunks, this.#held);
    this.#chunks = [];
    this.#held = 0;
    this.#take(bytes);
  }

  #take(bytes: Buffer): void {
    let from = 0;
    while (bytes.length - from >= HEADER) {
      const end = from + LENGTH + this.#lengthAt(bytes, from);
      if (end > bytes.length) break;
      this.#receive(
        bytes[from + LENGTH] as number,
        bytes.readUInt32BE(from + LENGTH + 1),
        bytes.subarray(from + HEADER, end),
      );
      from = end;
    }
    const left = bytes.length - from;
    this.#needed = left < HEADER ? HEADER : LENGTH + this.#lengthAt(bytes, from);
    if (left === 0) return;
    this.#chunks = [from === 0 ? bytes : bytes.subarray(from)];
    this.#held = left;
  }

  #lengthAt(bytes: Buffer, from: number): number {
    const length = bytes.readUInt32BE(from);
    if (length < AFTER_LENGTH)
      throw new FrameError(`a frame has at least ${String(AFTER_LENGTH)} bytes, got ${String(length)}`);
    if (length - AFTER_LENGTH > this.mostBytes) {
      throw new FrameError(
        `a frame here has a text of at most ${String(this.mostBytes)} bytes, got ${String(length - AFTER_LENGTH)}`,
      );
    }
    return length;
  }
}

/** @throws FrameError for a text that is not JSON. */
export function readText(text: Buffer): unknown {
  try {
    return JSON.parse(text.toString()) as unknown;
  } catch {
    throw new FrameError('the text of a frame is not JSON');
  }
}
