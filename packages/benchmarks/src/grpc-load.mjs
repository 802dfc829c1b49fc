// Calls a rate limit service at a rate, whether or not it keeps up: a latency counts from the instant at which the call
// was due, not from that at which it was sent.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
// Not by its name: the package's index imports jest.
import { seeded } from '../../testkit/dist/random.js';
import { quantile } from './in-turn.mjs';

const KEYS = 10_000;
const CONNECTIONS = 4;
/** What our service allows at once on a connection. */
const MAX_STREAMS = 100;
const DEADLINE_MS = 10_000;
const OVER_LIMIT = 2;
/** In how many steps gaps are drawn. */
const GRAINS = 2 ** 30;
const HEADERS = {
  ':method': 'POST',
  ':path': '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit',
  'content-type': 'application/grpc',
  te: 'trailers',
};

export function open() {
  const messages = Array.from({ length: KEYS }, (_, i) => message('many', 'user', `user-${i}`));
  return {
    slice: async ({ port, perSecond, ms }) => {
      const latencies = [];
      let denied = 0;
      const sessions = [];
      while (sessions.length < CONNECTIONS) sessions.push(await connected(port));
      const call = (session, sent, dueMs) => {
        session.open++;
        const stream = session.request(HEADERS);
        let code;
        // The second byte of a RateLimitResponse, which is its code, after the length of the message.
        stream.on('data', (bytes) => (code ??= bytes[6]));
        stream.on('error', () => undefined);
        stream.on('close', () => {
          session.open--;
          if (code !== undefined) latencies.push(performance.now() - dueMs);
          if (code === OVER_LIMIT) denied++;
        });
        stream.end(sent);
      };
      const { calls, wallMs } = await send(sessions, call, messages, perSecond, ms);
      for (const session of sessions) session.destroy();
      const [p50Ms, p99Ms] = [quantile(latencies, 0.5), quantile(latencies, 0.99)];
      // A call without an answer has failed as well.
      const failedShare = 1 - latencies.length / calls;
      return { ops: calls, answeredPerSecond: (latencies.length / wallMs) * 1000, failedShare, denied, p50Ms, p99Ms };
    },
  };
}

/** Sends what is due, with exponential gaps, until the time has passed and every call has an answer. */
async function send(sessions, call, messages, perSecond, ms) {
  const random = seeded(1);
  const startMs = performance.now();
  const lastMs = startMs + ms + DEADLINE_MS;
  let [dueMs, calls] = [startMs, 0];
  while (dueMs < startMs + ms && performance.now() < lastMs) {
    const nowMs = performance.now();
    while (dueMs <= nowMs && dueMs < startMs + ms) {
      const [roomiest] = sessions.toSorted((one, other) => one.open - other.open);
      // Sent later, and counted from when it was due.
      if (roomiest.open >= MAX_STREAMS) break;
      call(roomiest, random.pick(messages), dueMs);
      dueMs -= (Math.log(random.integer(1, GRAINS) / GRAINS) / perSecond) * 1000;
      calls++;
    }
    await new Promise(setImmediate);
  }
  while (sessions.some((one) => one.open > 0) && performance.now() < lastMs) await sleep(1);
  return { calls, wallMs: performance.now() - startMs };
}

/** Waits for a server that is being started. */
async function connected(port) {
  for (const endMs = performance.now() + DEADLINE_MS; ; await sleep(50)) {
    const session = connect(`http://127.0.0.1:${port}`);
    try {
      await once(session, 'remoteSettings');
      session.on('error', () => session.destroy());
      return Object.assign(session, { open: 0 });
    } catch (error) {
      if (performance.now() > endMs) throw error;
    }
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
