/** Messages of Sentinel's protocol, for its own server and ours, with rules of limits.yaml. */
const i8 = (value) => Buffer.of(value & 0xff);
const i32 = (value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
};
const i64 = (value) => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigInt64BE(BigInt(value));
  return bytes;
};

function framed(...parts) {
  const body = Buffer.concat(parts);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(body.length);
  return Buffer.concat([length, body]);
}

const ping = (namespace) => framed(i32(0), i8(0), i32(namespace.length), Buffer.from(namespace));
const flow = (xid, id, count = 1, priority = 0) => framed(i32(xid), i8(1), i64(id), i32(count), i8(priority));
const param = (xid, id, count, ...values) =>
  framed(i32(xid), i8(2), i64(id), i32(count), i32(values.length), ...values);
const text = (value) => Buffer.concat([i8(7), i32(value.length), Buffer.from(value)]);
const int = (value) => Buffer.concat([i8(0), i32(value)]);

/** Each a name, and messages of one connection. */
export const USUAL = [
  ['a PING', [ping('checkout')]],
  ['a blank PING', [ping(' ')]],
  ['a PING without a name', [framed(i32(0), i8(0))]],
  ['a FLOW', [flow(1, 101)]],
  ['a FLOW beyond the limit', [flow(1, 101, 7_000)]],
  ['a FLOW without the byte of priority', [framed(i32(1), i8(1), i64(101), i32(1))]],
  ['a FLOW without a rule', [flow(1, 404)]],
  ['a FLOW of a flowId of 0', [flow(1, 0)]],
  ['a FLOW of a count of 0', [flow(1, 101, 0)]],
  ['a FLOW of a negative count', [flow(1, 101, -5)]],
  ['a threshold per client', [ping('checkout'), flow(1, 102, 10), flow(2, 102, 1)]],
  ['a threshold per client without a client', [flow(1, 102)]],
  ['a PARAM_FLOW', [param(1, 201, 3, text('ann')), param(2, 201, 3, text('ann'))]],
  ['a PARAM_FLOW of several values', [param(1, 201, 5, text('bob'), int(5)), param(2, 201, 1, int(6), text('bob'))]],
  ['a PARAM_FLOW without a rule', [param(1, 404, 1, int(1))]],
  ['a PARAM_FLOW of a count of 0', [param(1, 201, 0, int(1))]],
];

const AFTER = [flow(9, 101)];
/** What comes after on the same connection is answered too where Sentinel's decoder has nothing left of the message. */
export const HOSTILE = [
  ['an empty message', [framed(), ...AFTER]],
  ['a FLOW without data', [framed(i32(1), i8(1)), ...AFTER]],
  ['an unknown type without data', [framed(i32(1), i8(99)), ...AFTER]],
  ['an acquisition of slots', [framed(i32(1), i8(3))]],
  ['a PARAM_FLOW without data', [framed(i32(1), i8(2)), ...AFTER]],
  ['a PARAM_FLOW of no values', [framed(i32(1), i8(2), i64(201), i32(1), i32(0)), ...AFTER]],
  ['a PARAM_FLOW of one unknown tag', [framed(i32(1), i8(2), i64(201), i32(1), i32(1), i8(9)), ...AFTER]],
  ['an unknown tag before a value', [framed(i32(1), i8(2), i64(201), i32(1), i32(2), i8(9), int(77)), ...AFTER]],
  ['a text that is shorter than it says', [framed(i32(1), i8(2), i64(201), i32(1), i32(1), i8(7), i32(500))]],
  ['a PING that is shorter than it says', [framed(i32(0), i8(0), i32(500), Buffer.from('name'))]],
  ['1024 bytes', [param(1, 201, 1, text('x'.repeat(1_024 - param(1, 201, 1, text('')).length))), ...AFTER]],
  ['1025 bytes', [param(1, 201, 1, text('x'.repeat(1_025 - param(1, 201, 1, text('')).length))), ...AFTER]],
  ['65 535 bytes', [framed(Buffer.alloc(65_535)), ...AFTER]],
];

/** An answer. How much is left depends on what came before: it is compared only where it is below 0. */
export function readAnswer(body) {
  const numbers = [];
  for (let at = 6; at + 4 <= body.length; at += 4) numbers.push(body.readInt32BE(at));
  const [xid, type, status] = [body.readInt32BE(0), body.readInt8(4), body.readInt8(5)];
  return { xid, type, status, numbers: type === 0 ? numbers : numbers.map((number) => Math.sign(number)) };
}
