import { once } from 'node:events';
import { connect } from 'node:net';

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const HEAD_BYTES = 9;
const SETTING_BYTES = 6;
const MAX_CONCURRENT_STREAMS = 3;
/** As much as may be: no window of the connection ever closes. */
const MOST_WINDOW = 2 ** 31 - 1 - 65_535;

/** Unary calls of gRPC over one connection of HTTP/2, by hand: a load generator must be cheap. */
export class GrpcConnection {
  #socket;
  #headers;
  #ended;
  #kept = Buffer.alloc(0);
  #nextStream = 1;
  /** Where the server names no bound. */
  #mostStreams = 4_000;
  #agree;
  /** Once the server has sent its settings. */
  #agreed = new Promise((resolve) => (this.#agree = resolve));
  /** By stream: what `call` was given, and the second byte of the message, which is the code of a RateLimitResponse. */
  #calls = new Map();

  /** @param ended - Called with what `call` was given, and the code; undefined for a call that failed. */
  static async open(port, path, ended) {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    const connection = new GrpcConnection(socket, port, path, ended);
    await connection.#agreed;
    return connection;
  }

  constructor(socket, port, path, ended) {
    this.#socket = socket;
    this.#ended = ended;
    this.#headers = requestHeaders(`127.0.0.1:${port}`, path);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const { given } of this.#calls.values()) ended(given, undefined);
      this.#calls.clear();
      this.#agree();
    });
    const window = Buffer.alloc(4);
    window.writeUInt32BE(MOST_WINDOW);
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), frame(WINDOW_UPDATE, 0, 0, window)]));
  }

  get inFlight() {
    return this.#calls.size;
  }

  /** Whether the server takes one more call now. A call above its SETTINGS_MAX_CONCURRENT_STREAMS ends the connection. */
  get hasRoom() {
    return this.#calls.size < this.#mostStreams;
  }

  /** Collects what is written in this turn. */
  cork() {
    this.#socket.cork();
  }

  uncork() {
    this.#socket.uncork();
  }

  /** @param message - With the five bytes before it: see {@link messageOf}. */
  call(message, given) {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.#calls.set(stream, { given, code: undefined });
    const bytes = Buffer.allocUnsafe(2 * HEAD_BYTES + this.#headers.length + message.length);
    writeHead(bytes, 0, this.#headers.length, HEADERS, END_HEADERS, stream);
    this.#headers.copy(bytes, HEAD_BYTES);
    const data = HEAD_BYTES + this.#headers.length;
    writeHead(bytes, data, message.length, DATA, END_STREAM, stream);
    message.copy(bytes, data + HEAD_BYTES);
    this.#socket.write(bytes);
  }

  end() {
    this.#socket.destroy();
  }

  #read(chunk) {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const length = bytes.readUIntBE(at, 3);
      const end = at + HEAD_BYTES + length;
      if (bytes.length < end) break;
      this.#frame(bytes[at + 3], bytes[at + 4], bytes.readUInt32BE(at + 5), bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.#kept = at === bytes.length ? Buffer.alloc(0) : bytes.subarray(at);
  }

  #frame(type, flags, stream, body) {
    if (type === SETTINGS && (flags & ACK) === 0) this.#readSettings(body);
    if (type === PING && (flags & ACK) === 0) this.#socket.write(frame(PING, ACK, 0, body));
    if (type === GOAWAY) throw new Error(`the server ends the connection, with code ${body.readUInt32BE(4)}`);
    const call = this.#calls.get(stream);
    if (call === undefined) return;
    if (type === DATA && call.code === undefined && body.length >= 7) call.code = body[6];
    const hasEnded = type === RST_STREAM || ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0);
    if (!hasEnded) return;
    this.#calls.delete(stream);
    this.#ended(call.given, type === RST_STREAM ? undefined : call.code);
  }

  #readSettings(settings) {
    for (let at = 0; at < settings.length; at += SETTING_BYTES) {
      if (settings.readUInt16BE(at) === MAX_CONCURRENT_STREAMS) this.#mostStreams = settings.readUInt32BE(at + 2);
    }
    this.#socket.write(frame(SETTINGS, ACK, 0));
    this.#agree();
  }
}

/** A message as gRPC sends it: not compressed, with its length. */
export function messageOf(bytes) {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** The bytes of a RateLimitRequest of descriptors, each a list of keys and values. */
export function rateLimitRequest(domain, descriptors) {
  const entry = ([key, value]) => field(1, Buffer.concat([text(1, key), text(2, value)]));
  return Buffer.concat([text(1, domain), ...descriptors.map((entries) => field(2, Buffer.concat(entries.map(entry))))]);
}

function text(number, value) {
  return field(number, Buffer.from(value));
}

function field(number, bytes) {
  const length = [];
  for (let left = bytes.length; ; left >>>= 7) {
    length.push(left > 127 ? (left & 127) | 128 : left);
    if (left <= 127) break;
  }
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

/** RFC 7541: indexed fields, and literals that no table keeps, so that all requests have the same bytes. */
function requestHeaders(authority, path) {
  const string = (value) => Buffer.from([value.length, ...Buffer.from(value)]);
  return Buffer.concat([
    Buffer.from([0x83, 0x86, 0x04]),
    string(path),
    Buffer.from([0x01]),
    string(authority),
    Buffer.from([0x0f, 0x10]),
    string('application/grpc'),
    Buffer.from([0x00]),
    string('te'),
    string('trailers'),
  ]);
}

function frame(type, flags, stream, body = Buffer.alloc(0)) {
  const bytes = Buffer.alloc(HEAD_BYTES + body.length);
  writeHead(bytes, 0, body.length, type, flags, stream);
  body.copy(bytes, HEAD_BYTES);
  return bytes;
}

function writeHead(bytes, at, length, type, flags, stream) {
  bytes.writeUIntBE(length, at, 3);
  bytes[at + 3] = type;
  bytes[at + 4] = flags;
  bytes.writeUInt32BE(stream, at + 5);
}
