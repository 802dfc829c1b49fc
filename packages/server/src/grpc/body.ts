import { CallError, Status } from './status.ts';

/** The prefix of a message: one byte of flags, and its length in four bytes, most significant first. */
export const PREFIX_BYTES = 5;

/** Completes a message whose first five bytes were left free. */
export function framed(message: Buffer): Buffer {
  message[0] = 0;
  message.writeUInt32BE(message.length - PREFIX_BYTES, 1);
  return message;
}

const FIRST_CAPACITY = 1024;
const NOTHING = Buffer.alloc(0);

/**
 * The body of a unary call: one message, in any number of chunks. An incomplete message is copied, because a chunk is a
 * view of 64 KiB read from the socket at once. The copy grows with what has arrived, not with the announced length.
 */
export class Body {
  readonly #longest: number;
  #held = NOTHING;
  #length = 0;
  /** The length of the whole body, once it is known. */
  #announced = Infinity;
  #isComplete = false;

  /** @param longest - The maximum length of a message, in bytes. */
  constructor(longest: number) {
    this.#longest = longest;
  }

  /** The memory that an incomplete message uses, in bytes. */
  get heldBytes(): number {
    return this.#held.length;
  }

  /**
   * Adds a chunk. Returns the message once it is complete, possibly as a view of the chunk.
   *
   * @throws CallError `RESOURCE_EXHAUSTED` once the announced length is too large; `UNIMPLEMENTED` for a compressed
   * message, and for more than one; `INTERNAL` for unknown flags.
   */
  add(chunk: Buffer): Buffer | undefined {
    if (chunk.length === 0) return undefined;
    if (this.#isComplete) throw severalMessages();
    const bytes = this.#length === 0 ? chunk : this.#withHeld(chunk);
    const missing = this.#missingBytes(bytes);
    if (missing < 0) throw severalMessages();
    if (missing > 0) {
      if (bytes === chunk) this.#withHeld(chunk);
      return undefined;
    }
    this.#isComplete = true;
    this.#held = NOTHING;
    return bytes.subarray(PREFIX_BYTES);
  }

  /** @throws CallError if the body has ended without a whole message. */
  end(): void {
    if (this.#isComplete) return;
    throw this.#length === 0
      ? new CallError(Status.UNIMPLEMENTED, 'the method takes one message, got none')
      : new CallError(Status.INTERNAL, 'the body ends inside a message');
  }

  /** How many bytes of the message are missing; below 0 if there is more than one message. */
  #missingBytes(bytes: Buffer): number {
    if (bytes.length < PREFIX_BYTES) return PREFIX_BYTES - bytes.length;
    const length = bytes.readUInt32BE(1);
    this.#announced = PREFIX_BYTES + length;
    const flags = bytes[0] as number;
    if (flags === 1) throw new CallError(Status.UNIMPLEMENTED, 'compressed messages are not supported: use identity');
    if (flags > 1) throw new CallError(Status.INTERNAL, `a message has the unknown flags ${String(flags)}`);
    if (length > this.#longest) {
      throw new CallError(
        Status.RESOURCE_EXHAUSTED,
        `a message may have at most ${String(this.#longest)} bytes, got ${String(length)}`,
      );
    }
    return PREFIX_BYTES + length - bytes.length;
  }

  /** Appends a chunk to what is held, and returns all of it. */
  #withHeld(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(
        Math.max(length, Math.min(this.#held.length * 2, this.#announced), FIRST_CAPACITY),
      );
      this.#held.copy(larger, 0, 0, this.#length);
      this.#held = larger;
    }
    chunk.copy(this.#held, this.#length);
    this.#length = length;
    return this.#held.subarray(0, length);
  }
}

function severalMessages(): CallError {
  return new CallError(Status.UNIMPLEMENTED, 'the method takes one message, got more than one');
}
