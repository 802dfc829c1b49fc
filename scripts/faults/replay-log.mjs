// Replays an access log (Apache combined) once through an Express application, over real HTTP, on the memory store and
// on Redis, and reports whether both denied the same requests. Each line is one request: its address arrives in a
// trusted proxy header, its instant through the clock of the store. Requests are sent in the order of their instants
// or, with --as-written, in the order of the file, where the clock sometimes goes back. Run `npm run build` first.
//
//   node scripts/faults/replay-log.mjs access.log
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';

// Every reply of Redis is compared with the decision of the kernels.
process.env.SLUICE_CHECK ??= '1';

const { byAll, byIp, byRoute, fixedWindow, memoryStore, rateLimit, slidingWindow, tokenBucket } =
  await built('express/dist/index.js');
// Module by module, because the entry point of the testkit needs jest.
const { fakeClock } = await built('testkit/dist/fake-clock.js');
const { startRedis } = await built('testkit/dist/redis-server.js');
const { virtualRedisStore } = await built('testkit/dist/virtual-redis.js');
const requireOf = (name) => createRequire(new URL(`../../packages/${name}/package.json`, import.meta.url));
const express = requireOf('express')('express');
const { Redis } = requireOf('express')('ioredis');

const DAY_MS = 86_400_000;
const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const LINE =
  /^(\S+) \S+ \S+ \[(\d+)\/(\w{3})\/(\d{4}):(\d+):(\d+):(\d+) ([+-]\d\d)(\d\d)\] "([A-Z]+) (\/[!-~]*) HTTP\/\d/;
const ROUTES = ['articles', 'blog', 'files', 'images', 'misc', 'presentations', 'projects'];

/** The limits: every window divides a day. */
const limits = [
  { name: 'per-address', policy: slidingWindow({ limit: 30, window: '1m' }), key: byIp() },
  {
    name: 'per-address-and-route',
    policy: tokenBucket({ capacity: 15, refill: 1, every: '3s' }),
    key: [byIp(), byRoute()],
  },
  { name: 'per-route', policy: fixedWindow({ limit: 1_000, window: '1h', align: 'clock' }), key: byRoute() },
  { name: 'all-clients', policy: tokenBucket({ capacity: 100, refill: 100, every: '1m' }), key: byAll() },
];

const [path] = process.argv.slice(2);
if (path === undefined) fail('usage: node scripts/faults/replay-log.mjs <access log in the Apache combined format>');
const { requests, passedOver } = readLog(path);
if (requests.length === 0) fail(`${path} has no line in the Apache combined format`);

const memory = await replay((clock) => memoryStore({ clock }));
const redis = await onRedis((client, eraMs) => replay((clock) => virtualRedisStore(client, clock, {}, eraMs)));

const different = requests.map((_, i) => i).filter((i) => memory.answers[i] !== redis.answers[i]);
print(memory, redis, different);
process.exitCode = different.length === 0 ? 0 : 1;

async function built(module) {
  try {
    return await import(new URL(`../../packages/${module}`, import.meta.url));
  } catch (error) {
    if (error.code !== 'ERR_MODULE_NOT_FOUND') throw error;
    return fail('The packages have not been built: run `npm run build` first.');
  }
}

function fail(why) {
  console.error(why);
  process.exit(2);
}

function readLog(file) {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    return fail(`${file} cannot be read: ${error.message}`);
  }
  const lines = text.split('\n').filter((line) => line !== '');
  const parsed = lines.map(parseLine).filter((request) => request !== undefined);
  // A server writes a line after the response is sent, so the instants of a log sometimes go back.
  if (!process.argv.includes('--as-written')) parsed.sort((one, other) => one.atMs - other.atMs);
  return { requests: parsed, passedOver: lines.length - parsed.length };
}

function parseLine(line) {
  const match = LINE.exec(line);
  if (match === null || !http.METHODS.includes(match[10])) return undefined;
  const [, address, day, month, year, hour, minute, second, offsetHours, offsetMinutes, method, target] = match;
  const offset = Number(offsetHours) * 60 + Number(`${offsetHours[0]}${offsetMinutes}`);
  const atMs = Date.UTC(year, MONTHS.indexOf(month), day, hour, minute, second) - offset * 60_000;
  return { address, atMs, method, target };
}

/** Sends the whole log, one request after the other. */
async function replay(newStore) {
  const clock = fakeClock();
  const counts = new Map([...limits.map(({ name }) => name), 'all together'].map((name) => [name, [0, 0]]));
  const count = (name, allowed) => counts.get(name)[allowed ? 0 : 1]++;
  const limiter = rateLimit({
    name: 'replay',
    limits,
    store: newStore(clock),
    onStoreError: 'throw',
    timeoutMs: 60_000,
    onDecision(decision) {
      for (const { name, allowed } of decision.policies) count(name, allowed);
      count('all together', decision.allowed);
    },
  });
  const answer = (_request, response) => response.end('ok');
  const app = express().set('trust proxy', 'loopback');
  // Patterns without parameters: real logs hold paths that cannot be decoded, and those are requests too.
  for (const route of ROUTES) app.all(new RegExp(`^/${route}(?:/|$)`), limiter, answer);
  app.all(/^/, limiter, answer);

  const server = http.createServer(app).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  const startedAt = performance.now();
  const answers = [];
  for (const { address, atMs, method, target } of requests) {
    clock.atMs = atMs;
    answers.push(await send({ agent, port: server.address().port, method, path: target, address }));
  }
  const seconds = (performance.now() - startedAt) / 1000;
  agent.destroy();
  server.close();
  return { answers, counts, seconds };
}

/** Status and header fields of the response, in one line. */
async function send({ address, ...options }) {
  const request = http.request({ host: '127.0.0.1', ...options, headers: { 'X-Forwarded-For': address } }).end();
  const [response] = await once(request, 'response');
  response.resume();
  await once(response, 'end');
  const { statusCode, headers } = response;
  if (statusCode !== 200 && statusCode !== 429) throw new Error(`${options.method} ${options.path}: ${statusCode}`);
  return [statusCode, headers['ratelimit'], headers['retry-after'] ?? '-'].join(' ');
}

/** Redis uses the present time: the log's instants are shifted by whole days, so that no expiry is in the past. */
async function onRedis(use) {
  const first = Math.min(...requests.map(({ atMs }) => atMs));
  const eraMs = Math.max(Math.ceil((Date.now() - first) / DAY_MS) + 1, 0) * DAY_MS;
  const server = await startRedis();
  const client = new Redis(server.url);
  try {
    return await use(client, eraMs);
  } finally {
    client.disconnect();
    await server.stop();
  }
}

function print(onMemory, onRedis, differing) {
  const iso = (atMs) => new Date(atMs).toISOString();
  const instants = requests.map(({ atMs }) => atMs).sort((a, b) => a - b);
  console.log(
    `${requests.length} requests from ${iso(instants[0])} to ${iso(instants.at(-1))}; ${passedOver} lines passed over`,
  );
  console.log(row('policy', 'store', 'offered', 'allowed', 'denied'));
  for (const name of onMemory.counts.keys()) {
    for (const [store, { counts }] of [
      ['memory', onMemory],
      ['Redis', onRedis],
    ]) {
      const [allowed, denied] = counts.get(name);
      console.log(row(name, store, allowed + denied, allowed, denied));
    }
  }
  console.log(`memory took ${onMemory.seconds.toFixed(1)} s, Redis ${onRedis.seconds.toFixed(1)} s`);
  if (differing.length === 0) {
    console.log('Both denied the same requests, with the same status and header fields in every response.');
    return;
  }
  console.log(
    `${differing.length} answers differ, the first of them for line ${JSON.stringify(requests[differing[0]])}:`,
  );
  console.log(`  memory: ${onMemory.answers[differing[0]]}\n  Redis:  ${onRedis.answers[differing[0]]}`);
}

function row(name, store, ...numbers) {
  return name.padEnd(22) + store.padEnd(8) + numbers.map((value) => String(value).padStart(9)).join('');
}
