// A process of its own: an Express server whose limit is counted in Redis.
import { once } from 'node:events';
import { subscribe } from 'node:diagnostics_channel';
import http from 'node:http';
import { built, libraryOf } from './built.mjs';
import { answerTo, settings, tell } from './children.mjs';
import { now } from './clock.mjs';

const { byAll, byHeader, rateLimit, redisStore, slidingWindow } = await built('express/dist/index.js');
const express = libraryOf('express', 'express');
const { Redis } = libraryOf('core', 'ioredis');

const { url, client, limit, windowMs, timeoutMs, keyHeader } = settings;

/** Pending calls of the client library. */
let unanswered = 0;
const { sendCommand } = Redis.prototype;
Redis.prototype.sendCommand = function (command, stream) {
  unanswered++;
  const settle = () => unanswered--;
  command.promise.then(settle, settle);
  return sendCommand.call(this, command, stream);
};

/** The instants of allowed requests, by the source of the decision and on its clock. */
const allowed = { redis: [], local: [] };
/** How long decisions took: the longest, and each that began while the breaker was open. */
let longestMs = 0;
const whileOpenMs = [];
let openedAt = Infinity;

if (keyHeader === undefined) {
  subscribe('sluice:decision', ({ durationMs }) => {
    longestMs = Math.max(longestMs, durationMs);
    if (now() - durationMs >= openedAt) whileOpenMs.push(durationMs);
  });
}
subscribe('sluice:breaker', ({ state, kind }) => {
  if (state === 'closed') openedAt = Infinity;
  else openedAt = Math.min(openedAt, now());
  tell({ state, kind, atMs: now() });
});

/** The options of the client that the guide recommends. */
const told = {
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  autoResendUnfulfilledCommands: false,
  retryStrategy: (attempt) => Math.min(attempt * 50, 500),
  connectTimeout: 2_000,
  socketTimeout: 3_000,
};
function connection() {
  if (client === undefined) return url;
  const redis = new Redis(url, client === 'told' ? told : {});
  redis.on('error', () => undefined);
  return redis;
}

const limiter = rateLimit({
  name: 'outage',
  policy: slidingWindow({ limit, window: windowMs }),
  key: keyHeader === undefined ? byAll() : byHeader(keyHeader),
  store: redisStore(connection()),
  timeoutMs,
  onDecision({ source, allowed, atMs }, { request }) {
    request.res.setHeader('x-source', source);
    if (allowed && keyHeader === undefined) allowed[source].push(atMs);
  },
});
const app = express();
app.disable('x-powered-by');
app.get('/unlimited', (_request, response) => response.end('ok')); // measures the machine without the limiter
app.use(limiter);
app.get('/', (_request, response) => response.end('ok'));

const server = http.createServer(app);
server.keepAliveTimeout = 0; // only the load generator closes connections
server.listen(0, '127.0.0.1');
await once(server, 'listening');

answerTo({
  port: () => server.address().port,
  report: () => ({ allowed, longestMs, whileOpenMs }),
  sample() {
    globalThis.gc();
    const { rss, heapUsed } = process.memoryUsage();
    return { rss, heapUsed, unanswered, keysInMemory: limiter.limiter.status().keysInMemory };
  },
});
