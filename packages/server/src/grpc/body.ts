import { Writer } from 'protobufjs/minimal.js';
import { CallError, Status } from './status.ts';

/** Before a message: one byte of flags, and its length in four bytes, most significant first. */
const PREFIX_BYTES = 5;

/** A message with its prefix. */
export function writeFrame<T>(message: T, write: (writer: Writer, message: T) => unknown): Buffer {
  const writer = Writer.create().uint32(0).fixed32(0); // room for the prefix
  write(writer, message);
  const bytes = writer.finish() as Buffer;
  bytes.writeUInt32BE(bytes.length - PREFIX_BYTES, 1);
  return bytes;
}

/** The longest message, in bytes: the default of gRPC. */
const MAX_MESSAGE: number = 4 * 1024 * 1024;
const FIRST_CAPACITY = 1024;
const NOTHING = Buffer.alloc(0);

/**
 * The body of a unary call: one message, in any number of chunks. An incomplete message is copied, because a chunk is a
 * view of 64 KiB read from the socket at once. The copy grows with what has arrived, not with the announced length.
 */
export class Body {
  #held = NOTHING;
  #length = 0;
  #isComplete = false;

  /** The memory that an incomplete message takes, in bytes. */
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
    const flags = bytes[0] as number;
    if (flags === 1) throw new CallError(Status.UNIMPLEMENTED, 'compressed messages are not supported: use identity');
    if (flags > 1) throw new CallError(Status.INTERNAL, `a message has the flags ${String(flags)}`);
    if (length > MAX_MESSAGE) {
      throw new CallError(
        Status.RESOURCE_EXHAUSTED,
        `a message has at most ${String(MAX_MESSAGE)} bytes, got ${String(length)}`,
      );
    }
    return PREFIX_BYTES + length - bytes.length;
  }

  /** Appends a chunk to what is held, and returns all of it. */
  #withHeld(chunk: Buffer): Buffer {
    const length = this.#length + chunk.length;
    if (length > this.#held.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.#held.length * 2, FIRST_CAPACITY));
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
