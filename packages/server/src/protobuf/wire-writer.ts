import { DELIMITED, FIXED64, VARINT } from './wire.ts';

const FIRST_SIZE = 4096;

/**
 * Writes protobuf fields into its own buffer, which is reused for the next message. `field` is the number of a field,
 * up to 15.
 */
export class WireWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_SIZE);
  #at = 0;

  /** Forgets what was written, but leaves room for `prefix` bytes. */
  begin(prefix: number): void {
    this.#at = prefix;
  }

  /** A copy of what was written, including the room before it. */
  finish(): Buffer {
    const copy = Buffer.allocUnsafe(this.#at);
    this.#bytes.copy(copy, 0, 0, this.#at);
    return copy;
  }

  /** Writes a non-negative number, unless it is 0, the value of a missing field. */
  number(field: number, value: number): void {
    if (value !== 0) this.varint(field, value);
  }

  /** Writes a non-negative number, including 0. */
  varint(field: number, value: number): void {
    this.#room(11);
    this.#bytes[this.#at++] = field * 8 + VARINT;
    this.#varint(value);
  }

  /** Writes a string, unless it is empty. */
  text(field: number, value: string): void {
    if (value !== '') this.textOf(field, value);
  }

  /** Writes a string, even an empty one. */
  textOf(field: number, value: string): void {
    this.#room(11 + value.length * 3);
    const start = this.open(field);
    this.#at += this.#bytes.write(value, this.#at, 'utf8');
    this.close(start);
  }

  /** Writes a double, including 0. */
  double(field: number, value: number): void {
    this.#room(9);
    this.#bytes[this.#at++] = field * 8 + FIXED64;
    this.#at = this.#bytes.writeDoubleLE(value, this.#at);
  }

  /** Begins a nested message. Returns what {@link close} needs. */
  open(field: number): number {
    this.#room(2);
    this.#bytes[this.#at++] = field * 8 + DELIMITED;
    return this.#at++;
  }

  /** Ends a nested message: writes its length in front of it, for which {@link open} left one byte. */
  close(start: number): void {
    const length = this.#at - start - 1;
    if (length < 128) {
      this.#bytes[start] = length;
      return;
    }
    this.#room(4);
    let size = 1;
    for (let rest = length; rest >= 128; rest = Math.floor(rest / 128)) size++;
    this.#bytes.copyWithin(start + size, start + 1, this.#at);
    this.#at = start;
    this.#varint(length);
    this.#at += length;
  }

  #varint(value: number): void {
    let rest = value;
    while (rest >= 128) {
      this.#bytes[this.#at++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    this.#bytes[this.#at++] = rest;
  }

  #room(size: number): void {
    if (this.#at + size <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow((this.#at + size) * 2);
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
