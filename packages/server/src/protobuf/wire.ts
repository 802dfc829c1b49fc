import { isUtf8 } from 'node:buffer';

/** The wire types of protobuf: https://protobuf.dev/programming-guides/encoding */
export const VARINT = 0;
export const FIXED64 = 1;
export const DELIMITED = 2;
const FIXED32 = 5;

const MAX_FIELD = 2 ** 29 - 1;

/** Bytes that are not a protobuf message. */
export class WireError extends Error {
  override readonly name = 'WireError';
}

/**
 * Reads the fields of a message in order. The caller loops `while (reader.next())` and reads the value of each field
 * that it knows by number and wire type, or calls {@link skip}.
 *
 * Every method throws WireError if the bytes end too early or are invalid.
 */
export class WireReader {
  readonly #bytes: Buffer;
  #at = 0;
  #end: number;
  #tag = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
    this.#end = bytes.length;
  }

  /**
   * Reads the tag of the next field: its number times 8, plus its wire type. 0 at the end of the message that is being
   * read.
   */
  next(): number {
    if (this.#at === this.#end) return (this.#tag = 0);
    const tag = this.uint64();
    const field = Math.floor(tag / 8);
    if (field === 0 || field > MAX_FIELD) throw new WireError(`a field has the number ${String(field)}`);
    return (this.#tag = tag);
  }

  /** Reads a varint of up to ten bytes. Above 2^53, the number is not exact, but never below 2^53. */
  uint64(): number {
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    let value = 0;
    for (let scale = 1; at < end; scale *= 128) {
      const byte = bytes[at++] as number;
      if (scale === 2 ** 63 && byte > 1) throw new WireError('a varint has more than 64 bits');
      value += (byte & 127) * scale;
      if (byte > 127) continue;
      this.#at = at;
      return value;
    }
    throw truncated();
  }

  /** Reads a varint and keeps the lower 32 bits, as other parsers do. */
  uint32(): number {
    const start = this.#at;
    this.uint64();
    let value = 0;
    for (let at = start, shift = 0; at < this.#at && shift < 35; at++, shift += 7) {
      value |= ((this.#bytes[at] as number) & 127) << shift;
    }
    return value >>> 0;
  }

  /** Reads a varint: true unless it is 0. */
  bool(): boolean {
    return this.uint64() !== 0;
  }

  /** Reads the length of what follows: a string, bytes, or a message. */
  length(): number {
    const length = this.uint64();
    if (length > this.#end - this.#at) throw truncated();
    return length;
  }

  /** Reads a string of this length. */
  text(length: number): string {
    const start = this.#at;
    const end = (this.#at = start + length);
    const bytes = this.#bytes;
    let at = start;
    while (at < end && (bytes[at] as number) < 128) at++;
    if (at === end) return bytes.toString('latin1', start, end); // ASCII: the faster way
    if (!isUtf8(bytes.subarray(start, end))) throw new WireError('a string is not UTF-8');
    return bytes.toString('utf8', start, end);
  }

  /** Begins to read a nested message. Returns what {@link leave} needs. */
  enter(): number {
    const outerEnd = this.#end;
    this.#end = this.length() + this.#at;
    return outerEnd;
  }

  /** Ends the nested message, which has been read to its end. */
  leave(outerEnd: number): void {
    this.#end = outerEnd;
  }

  /**
   * Skips the field whose tag was read last: it is unknown, or has the wrong wire type for its number. Groups, which
   * this protocol never used, are an error.
   */
  skip(): void {
    switch (this.#tag % 8) {
      case VARINT:
        this.uint64();
        return;
      case FIXED64:
        this.#pass(8);
        return;
      case DELIMITED:
        this.#pass(this.length());
        return;
      case FIXED32:
        this.#pass(4);
        return;
      default:
        throw new WireError(`a field has the wire type ${String(this.#tag % 8)}`);
    }
  }

  #pass(length: number): void {
    if (length > this.#end - this.#at) throw truncated();
    this.#at += length;
  }
}

function truncated(): WireError {
  return new WireError('the message ends inside a field');
}
