import type { Reader } from 'protobufjs/minimal.js';

/** Wire types of protobuf: https://protobuf.dev/programming-guides/encoding */
export const VARINT = 0;
export const FIXED64 = 1;
export const DELIMITED = 2;

/**
 * Reads the fields of a message that has this length, in order.
 *
 * @param read - Gets the number of each field times 8, plus its wire type. Reads the value, or returns false: it is skipped.
 * @throws Error if the message ends inside a field, or outside the one that it is in.
 */
export function readFields(reader: Reader, length: number, read: (tag: number) => boolean): void {
  const outerEnd = reader.len;
  const end = reader.pos + length;
  if (end > outerEnd) throw new RangeError('a message ends outside the one that it is in');
  reader.len = end;
  while (reader.pos < end) {
    const tag = reader.tag();
    if (!read(tag)) reader.skipType(tag & 7, 0, tag >>> 3);
  }
  reader.len = outerEnd;
}
