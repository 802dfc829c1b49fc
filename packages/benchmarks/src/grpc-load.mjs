// Calls a rate limit service at a rate, whether or not it keeps up: a latency counts from the instant at which the call
// was due, not from that at which it was sent.
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { quantile } from './in-turn.mjs';
import { seeded } from './keys.mjs';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const KEYS = 10_000;
const CONNECTIONS = 4;
/** What our service allows at once on a connection. */
const MAX_STREAMS = 100;
const DEADLINE_MS = 10_000;
const OVER_LIMIT = 2;

export function open() {
  const messages = Array.from({ length: KEYS }, (_, i) => message('many', 'user', `user-${i}`));
  return {
    slice: async ({ port, perSecond, ms }) => {
      const latencies = [];
      let denied = 0;
      const ended = (dueMs, code) => {
        if (code !== undefined) latencies.push(performance.now() - dueMs);
        if (code === OVER_LIMIT) denied++;
      };
      const connections = [];
      while (connections.length < CONNECTIONS) connections.push(await GrpcConnection.open(port, ended));
      const { calls, wallMs } = await send(connections, messages, perSecond, ms);
      for (const connection of connections) connection.end();
      const [p50Ms, p99Ms] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
      // A call without an answer has failed as well.
      const failedShare = 1 - latencies.length / calls;
      return { calls, answeredPerSecond: (latencies.length / wallMs) * 1000, failedShare, denied, p50Ms, p99Ms };
    },
  };
}

/** Sends what is due, with exponential gaps, until the time has passed and every call has an answer. */
async function send(connections, messages, perSecond, ms) {
  const random = seeded(1);
  const startMs = performance.now();
  const lastMs = startMs + ms + DEADLINE_MS;
  let [dueMs, calls] = [startMs, 0];
  while (dueMs < startMs + ms && performance.now() < lastMs) {
    const nowMs = performance.now();
    for (const { socket } of connections) socket.cork();
    while (dueMs <= nowMs && dueMs < startMs + ms) {
      const [roomiest] = connections.toSorted((one, other) => one.calls.size - other.calls.size);
      // Sent later, and counted from when it was due.
      if (roomiest.calls.size >= MAX_STREAMS) break;
      roomiest.call(messages[Math.floor(random() * messages.length)], dueMs);
      dueMs -= (Math.log(1 - random()) / perSecond) * 1000;
      calls++;
    }
    for (const { socket } of connections) socket.uncork();
    await new Promise(setImmediate);
  }
  while (connections.some((one) => one.calls.size > 0) && performance.now() < lastMs) await sleep(1);
  return { calls, wallMs: performance.now() - startMs };
}

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');
const [DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE] = [0, 1, 3, 4, 6, 7, 8];
const END_STREAM = 1;
const END_HEADERS = 4;
const ACK = 1;
const HEAD_BYTES = 9;
/** So large that no window of the connection ever closes. */
const MAX_WINDOW = 2 ** 31 - 1 - 65_535;

/** Unary calls of gRPC over one connection of HTTP/2, by hand: a load generator must be cheap. */
class GrpcConnection {
  socket;
  /** By stream: when it was due, and the second byte of the answer, which is the code of a RateLimitResponse. */
  calls = new Map();
  #headers;
  #ended;
  #kept = Buffer.alloc(0);
  #nextStream = 1;

  /** Waits for a server that is being started. */
  static async open(port, ended) {
    for (const endMs = performance.now() + DEADLINE_MS; ; await sleep(50)) {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      try {
        await once(socket, 'connect');
        return new GrpcConnection(socket, port, ended);
      } catch (error) {
        if (performance.now() > endMs) throw error;
      }
    }
  }

  constructor(socket, port, ended) {
    this.socket = socket;
    this.#ended = ended;
    this.#headers = requestHeaders(`127.0.0.1:${port}`);
    socket.on('data', (chunk) => this.#read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      for (const { dueMs } of this.calls.values()) ended(dueMs, undefined);
      this.calls.clear();
    });
    const window = Buffer.alloc(4);
    window.writeUInt32BE(MAX_WINDOW);
    socket.write(Buffer.concat([PREFACE, frame(SETTINGS, 0, 0), frame(WINDOW_UPDATE, 0, 0, window)]));
  }

  call(message, dueMs) {
    const stream = this.#nextStream;
    this.#nextStream += 2;
    this.calls.set(stream, { dueMs, code: undefined });
    this.socket.write(frame(HEADERS, END_HEADERS, stream, this.#headers));
    this.socket.write(frame(DATA, END_STREAM, stream, message));
  }

  end() {
    this.socket.destroy();
  }

  #read(chunk) {
    const bytes = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    let at = 0;
    while (bytes.length - at >= HEAD_BYTES) {
      const end = at + HEAD_BYTES + bytes.readUIntBE(at, 3);
      if (bytes.length < end) break;
      this.#frame(bytes[at + 3], bytes[at + 4], bytes.readUInt32BE(at + 5), bytes.subarray(at + HEAD_BYTES, end));
      at = end;
    }
    this.#kept = bytes.subarray(at);
  }

  #frame(type, flags, stream, body) {
    if ((type === SETTINGS || type === PING) && (flags & ACK) === 0) {
      this.socket.write(frame(type, ACK, 0, type === PING ? body : undefined));
    }
    if (type === GOAWAY) throw new Error(`the server ends the connection, with code ${body.readUInt32BE(4)}`);
    const call = this.calls.get(stream);
    if (call === undefined) return;
    if (type === DATA && call.code === undefined && body.length >= 7) call.code = body[6];
    const hasEnded = type === RST_STREAM || ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0);
    if (!hasEnded) return;
    this.calls.delete(stream);
    this.#ended(call.dueMs, type === RST_STREAM ? undefined : call.code);
  }
}

/** A RateLimitRequest with one descriptor, as gRPC sends it: not compressed, after its length. */
function message(domain, key, value) {
  const descriptor = field(1, Buffer.concat([field(1, key), field(2, value)]));
  const bytes = Buffer.concat([field(1, domain), field(2, descriptor)]);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, bytes.length]), bytes]);
}

/** A field of bytes, shorter than 128 here. */
function field(number, value) {
  const bytes = Buffer.from(value);
  return Buffer.concat([Buffer.from([(number << 3) | 2, bytes.length]), bytes]);
}

/** RFC 7541: indexed fields, and literals that no table keeps, so that all requests have the same bytes. */
function requestHeaders(authority) {
  const string = (value) => Buffer.from([value.length, ...Buffer.from(value)]);
  return Buffer.concat([
    ...[Buffer.from([0x83, 0x86, 0x04]), string(PATH)],
    ...[Buffer.from([0x01]), string(authority)],
    ...[Buffer.from([0x0f, 0x10]), string('application/grpc')],
    ...[Buffer.from([0x00]), string('te'), string('trailers')],
  ]);
}

function frame(type, flags, stream, body = Buffer.alloc(0)) {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}
