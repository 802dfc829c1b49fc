/** Frames of HTTP/2 by hand, as no client sends them: https://www.rfc-editor.org/rfc/rfc9113#section-4 */
export const PREFACE: Buffer = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export const TYPE = {
  data: 0,
  headers: 1,
  priority: 2,
  rstStream: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

/** The bytes of a frame before its payload. */
const HEAD_BYTES = 9;
export const END_STREAM = 1;
export const END_HEADERS = 4;

export function frame(type: number, flags: number, stream: number, payload: Uint8Array = Buffer.alloc(0)): Buffer {
  const header = Buffer.alloc(HEAD_BYTES);
  header.writeUIntBE(payload.length, 0, 3);
  header[3] = type;
  header[4] = flags;
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
}

/** Settings, each a number and its value. */
export function settings(...list: readonly (readonly [id: number, value: number])[]): Buffer {
  const payload = Buffer.alloc(list.length * 6);
  list.forEach(([id, value], i) => {
    payload.writeUInt16BE(id, i * 6);
    payload.writeUInt32BE(value, i * 6 + 2);
  });
  return frame(TYPE.settings, 0, 0, payload);
}

export function rstStream(stream: number): Buffer {
  return frame(TYPE.rstStream, 0, stream, Buffer.from([0, 0, 0, 8]));
}

export function ping(): Buffer {
  return frame(TYPE.ping, 0, 0, Buffer.alloc(8));
}

export type Field = readonly [name: string, value: string];

/** Header fields as literals, without a table: https://www.rfc-editor.org/rfc/rfc7541#section-6.2.2 */
export function fieldBlock(fields: readonly Field[]): Buffer {
  return Buffer.concat(fields.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]));
}

function literal(text: string): Buffer {
  return Buffer.concat([Buffer.from([text.length]), Buffer.from(text, 'latin1')]); // below 127, a length is one byte
}

/** The fields of a call. */
export function callFields(path: string, ...more: readonly Field[]): readonly Field[] {
  return [
    [':method', 'POST'],
    [':scheme', 'http'],
    [':path', path],
    [':authority', 'localhost'],
    ['content-type', 'application/grpc'],
    ['te', 'trailers'],
    ...more,
  ];
}

/** A call: its block of header fields, and its message in one frame. */
export function callFrames(stream: number, block: Uint8Array, message: Uint8Array): Buffer {
  return Buffer.concat([
    frame(TYPE.headers, END_HEADERS, stream, block),
    frame(TYPE.data, END_STREAM, stream, message),
  ]);
}
