// Calls the rate limit service at a rate, whether or not it keeps up: a latency counts from the instant at which the
// call was due, not from that at which it was sent.
import { answer } from '../processes/answer.mjs';
import { GrpcConnection, messageOf, rateLimitRequest } from '../measure/grpc-connection.mjs';
import { seeded } from '../measure/random.mjs';
import { quantile } from '../measure/spread.mjs';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const CONNECTIONS = 4;
const OVER_LIMIT = 2;
/** The answers come within this time after the last call, or not at all. */
const LATEST_MS = 10_000;
/** Between two looks at the clock, so that Redis, on the same core, is not kept waiting. */
const PAUSE_MS = 0.1;
const pause = new Int32Array(new SharedArrayBuffer(4));

answer(() => ({
  slice: async ({ port, domain, perSecond, ms, keys, descriptors }) => {
    const messages = Array.from({ length: keys }, (_, i) =>
      messageOf(rateLimitRequest(domain, descriptorsOf(`user-${i}`, descriptors))),
    );
    const seen = { latencies: [], denied: 0 };
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        GrpcConnection.open(port, PATH, (dueMs, code) => {
          if (code !== undefined) seen.latencies.push(performance.now() - dueMs);
          if (code === OVER_LIMIT) seen.denied++;
        }),
      ),
    );
    const { sent, wallMs } = await send(connections, messages, perSecond, ms);
    for (const connection of connections) connection.end();
    const { latencies, denied } = seen;
    const at = (share) => quantile(latencies, share);
    return {
      // A call without an answer has failed as well.
      ...{ requests: sent, denied, failed: sent - latencies.length, wallMs },
      ...{ p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999) },
    };
  },
}));

function descriptorsOf(user, count) {
  return Array.from({ length: count }, (_, i) => [[`rule-${i}`, user]]);
}

/**
 * Sends what is due, with exponential gaps, until the time has passed and every call has an answer. A call for which no
 * connection has room is sent later, and its latency counts from when it was due.
 */
async function send(connections, messages, perSecond, ms) {
  const next = seeded(1);
  const startMs = performance.now();
  const lastMs = startMs + ms + LATEST_MS;
  let dueMs = startMs;
  let sent = 0;
  while (dueMs < startMs + ms && performance.now() < lastMs) {
    const nowMs = performance.now();
    if (dueMs > nowMs || roomiest(connections) === undefined) Atomics.wait(pause, 0, 0, PAUSE_MS);
    for (const connection of connections) connection.cork();
    for (; dueMs <= nowMs && dueMs < startMs + ms; sent++) {
      const connection = roomiest(connections);
      if (connection === undefined) break;
      connection.call(messages[Math.floor(next() * messages.length)], dueMs);
      dueMs -= (Math.log(1 - next()) / perSecond) * 1000;
    }
    for (const connection of connections) connection.uncork();
    await new Promise(setImmediate);
  }
  while (connections.some(({ inFlight }) => inFlight > 0) && performance.now() < lastMs)
    await new Promise((resolve) => setTimeout(resolve, 1));
  return { sent, wallMs: performance.now() - startMs };
}

/** The connection with the fewest calls on their way; undefined where none takes one more. */
function roomiest(connections) {
  let [best] = connections;
  for (const connection of connections) if (connection.inFlight < best.inFlight) best = connection;
  return best.hasRoom ? best : undefined;
}
