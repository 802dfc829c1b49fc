// Calls a rate limit service at a rate, whether or not it keeps up: a latency counts from the instant at which the call
// was due, not from that at which it was sent.
import { once } from 'node:events';
import { connect } from 'node:http2';
import { quantile } from './in-turn.mjs';

const KEYS = 10_000;
/** From the key of one call to that of the next: a prime, so that all have their turn. */
const STRIDE = 7919;
const CONNECTIONS = 4;
const DEADLINE_MS = 10_000;
const OVER_LIMIT = 2;
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
      const sessions = Array.from({ length: CONNECTIONS }, () => connect(`http://127.0.0.1:${port}`));
      await Promise.all(sessions.map((session) => once(session, 'remoteSettings')));
      const startMs = performance.now();
      const calls = [];
      while (calls.length < (perSecond * ms) / 1000) {
        const i = calls.length;
        const dueMs = startMs + (i * 1000) / perSecond;
        if (performance.now() < dueMs) await new Promise(setImmediate);
        else calls.push(call(sessions[i % CONNECTIONS], messages[(i * STRIDE) % KEYS], dueMs));
      }
      // A call without an answer has failed as well.
      const answers = (await Promise.all(calls)).filter(({ code }) => code !== undefined);
      const wallMs = performance.now() - startMs;
      for (const session of sessions) session.destroy();
      const latencies = answers.map(({ tookMs }) => tookMs);
      return {
        ops: calls.length,
        answeredPerSecond: (answers.length / wallMs) * 1000,
        failedShare: 1 - answers.length / calls.length,
        denied: answers.filter(({ code }) => code === OVER_LIMIT).length,
        p50Ms: quantile(latencies, 0.5),
        p99Ms: quantile(latencies, 0.99),
      };
    },
  };
}

function call(session, sent, dueMs) {
  const stream = session.request(HEADERS);
  stream.setTimeout(DEADLINE_MS, () => stream.close());
  let code;
  // The second byte of a RateLimitResponse, which is its code, after the length of the message.
  stream.on('data', (bytes) => (code ??= bytes[6])).on('error', () => undefined);
  stream.end(sent);
  return new Promise((resolve) => {
    stream.on('close', () => resolve({ code, tookMs: performance.now() - dueMs }));
  });
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
