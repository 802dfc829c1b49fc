// A process of its own: calls the rate limit service at a steady rate on one connection to each port, in an open loop.
// A call is made when it is due, also while earlier ones are pending, and its wait is counted from then. Every call has
// Envoy's timeout.
import { connect } from 'node:http2';
import { clearInterval, setInterval } from 'node:timers';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerTo, settings } from './children.mjs';
import { now } from './clock.mjs';

const { ports, rate, timeout, keys } = settings;
const PATH = '/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit';
const LONGEST_MS = 10_000;

const field = (number, bytes) => Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
const text = (number, value) => field(number, Buffer.from(value));
const messages = Array.from({ length: keys }, (_, i) => {
  const entry = field(1, Buffer.concat([text(1, 'user'), text(2, `u${i}`)]));
  const message = Buffer.concat([text(1, 'outage'), field(2, entry)]);
  return Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
});

const sessions = ports.map((port) => {
  const session = connect(`http://127.0.0.1:${port}`);
  session.on('error', () => undefined);
  return session;
});
const everyMs = 1000 / (rate * ports.length);
let rows = [];
let sent = 0;
let startedAt = Infinity;
let timer;

function send(dueAt) {
  const server = sent % ports.length;
  const message = messages[Math.floor(sent++ / ports.length) % keys];
  const row = { server, dueAt, sentAt: now(), waitMs: LONGEST_MS, status: undefined, source: undefined };
  rows.push(row);
  const stream = sessions[server].request({
    ...{ ':method': 'POST', ':path': PATH, 'content-type': 'application/grpc', te: 'trailers' },
    'grpc-timeout': timeout,
  });
  const take = (fields) => (row.status ??= fields['grpc-status']);
  stream.on('response', take);
  stream.on('trailers', take);
  stream.on('data', (bytes) => {
    row.source = ['redis', 'local', 'cache'].find((source) => bytes.includes(source));
  });
  stream.on('error', () => undefined);
  stream.on('close', () => (row.waitMs = now() - dueAt));
  stream.end(message);
}

function tick() {
  for (let dueAt = startedAt + sent * everyMs; dueAt <= now(); dueAt = startedAt + sent * everyMs) send(dueAt);
}

answerTo({
  start() {
    rows = [];
    sent = 0;
    startedAt = now();
    timer = setInterval(tick, 1);
  },
  stop() {
    clearInterval(timer);
    return { rows };
  },
  /** Stops, once every call has ended. */
  async finish() {
    clearInterval(timer);
    const lastMs = now() + LONGEST_MS;
    while (now() < lastMs && rows.some(({ status }) => status === undefined)) await sleep(10);
    return { rows };
  },
});
