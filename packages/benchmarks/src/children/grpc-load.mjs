// Calls the rate limit service at a rate, whether or not it keeps up: a latency counts from the instant at which the
// call was due, not from that at which it was sent.
import { answer } from '../processes/answer.mjs';
import { GrpcConnection, messageOf, rateLimitRequest } from '../measure/grpc-connection.mjs';
import { seeded } from '../measure/random.mjs';
import { quantile } from '../measure/spread.mjs';

const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const CONNECTIONS = 4;
const OVER_LIMIT = 2;
/** Between two looks at the clock, so that Redis, on the same core, is not kept waiting. */
const PAUSE_MS = 0.1;
const pause = new Int32Array(new SharedArrayBuffer(4));

answer(() => ({
  slice: async ({ port, domain, perSecond, ms, keys, descriptors }) => {
    const messages = Array.from({ length: keys }, (_, i) =>
      messageOf(rateLimitRequest(domain, descriptorsOf(`user-${i}`, descriptors))),
    );
    const seen = { latencies: [], denied: 0, failed: 0 };
    const connections = await Promise.all(
      Array.from({ length: CONNECTIONS }, () =>
        GrpcConnection.open(port, PATH, (dueMs, code) => {
          if (code === undefined) seen.failed++;
          else seen.latencies.push(performance.now() - dueMs);
          if (code === OVER_LIMIT) seen.denied++;
        }),
      ),
    );
    const wallMs = await send(connections, messages, perSecond, ms);
    for (const connection of connections) connection.end();
    const { latencies, denied, failed } = seen;
    const at = (share) => quantile(latencies, share);
    return {
      ...{ requests: latencies.length + failed, denied, failed, wallMs },
      ...{ p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999) },
    };
  },
}));

function descriptorsOf(user, count) {
  return Array.from({ length: count }, (_, i) => [[`rule-${i}`, user]]);
}

/** Sends what is due, with exponential gaps, until the time has passed and every call has an answer. */
async function send(connections, messages, perSecond, ms) {
  const next = seeded(1);
  const startMs = performance.now();
  let dueMs = startMs;
  let sent = 0;
  while (dueMs < startMs + ms) {
    const nowMs = performance.now();
    if (dueMs > nowMs) Atomics.wait(pause, 0, 0, PAUSE_MS);
    for (const connection of connections) connection.cork();
    for (; dueMs <= nowMs && dueMs < startMs + ms; sent++) {
      const connection = connections[sent % connections.length];
      if (!connection.hasRoom) break; // it is sent later, and counts from when it was due
      connection.call(messages[Math.floor(next() * messages.length)], dueMs);
      dueMs -= (Math.log(1 - next()) / perSecond) * 1000;
    }
    for (const connection of connections) connection.uncork();
    await new Promise(setImmediate);
  }
  const endMs = performance.now() + 10_000;
  while (connections.some(({ inFlight }) => inFlight > 0) && performance.now() < endMs)
    await new Promise((resolve) => setTimeout(resolve, 1));
  return performance.now() - startMs;
}
