/** Messages of Sentinel's protocol, written by hand: the codec under test has no part in them. */

/** A message with its length. */
export function framed(...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u16(body.length), body]);
}

export function ping(namespace: string, xid = 0): Buffer {
  const text = Buffer.from(namespace);
  return framed(i32(xid), i8(0), i32(text.length), text);
}

export function flow(xid: number, flowId: number | bigint, count = 1, priority = false): Buffer {
  return framed(i32(xid), i8(1), i64(flowId), i32(count), i8(priority ? 1 : 0));
}

export function paramFlow(xid: number, flowId: number | bigint, count: number, ...values: readonly Buffer[]): Buffer {
  return framed(i32(xid), i8(2), i64(flowId), i32(count), i32(values.length), ...values);
}

export function text(value: string | Buffer): Buffer {
  const bytes = Buffer.from(value as string);
  return Buffer.concat([i8(7), i32(bytes.length), bytes]);
}

export const int = (value: number): Buffer => Buffer.concat([i8(0), i32(value)]);
export const long = (value: number | bigint): Buffer => Buffer.concat([i8(1), i64(value)]);

/** A whole number of some bytes. */
function whole(bytes: number): (value: number) => Buffer {
  return (value) => {
    const written = Buffer.alloc(bytes);
    written.writeUIntBE(value < 0 ? value + 256 ** bytes : value, 0, bytes);
    return written;
  };
}
export const [i8, u16, i32] = [whole(1), whole(2), whole(4)] as const;

export function i64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
}

/** An answer as its bytes say it. */
export interface Answer {
  readonly xid: number;
  readonly type: number;
  readonly status: number;
  /** `remaining` and `waitInMs`, or the number of connected clients. */
  readonly numbers: readonly number[];
}

export function readAnswer(body: Buffer): Answer {
  const numbers: number[] = [];
  for (let at = 6; at + 4 <= body.length; at += 4) numbers.push(body.readInt32BE(at));
  return { xid: body.readInt32BE(0), type: body.readInt8(4), status: body.readInt8(5), numbers };
}
