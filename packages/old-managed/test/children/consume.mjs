// One process of several: consumes one key of a managed policy through the built package, as fast as possible or 300
// times a second, until its input ends. Then it prints what it saw.
//
// argv: url, how it learns of changes (`both`, `notifications`, `polling`), requests a second (0: as fast as possible)
//
// Prints { registryCalls, limits: [limit, first, last][] in the order seen, with its own clock, windows: { [end]: {
// allowed, limits } } }
import { setImmediate as turnOfEventLoop, setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';

const [url, hears, rate] = process.argv.slice(2);

const POLL_MS = 500;
if (hears === 'notifications') {
  // No poll is ever due. The counts below show that this works.
  const original = globalThis.setTimeout;
  globalThis.setTimeout = (call, ms, ...args) => original(call, ms === POLL_MS ? 2 ** 31 - 1 : ms, ...args);
}
const { createLimiter, redisStore } = await import('@sluice/old-core');
const { managed } = await import('@sluice/old-managed');

const redis = new Redis(url);
await redis.get('sluice:connected');

let registryCalls = 0;
const call = (how) => (script, keys, args) => {
  if (keys[0] === 'sluice:policies') registryCalls++;
  return redis[how](script, keys.length, ...keys, ...args);
};
const subscribe = (channel, heard) => {
  const subscriber = redis.duplicate();
  subscriber.on('error', () => undefined);
  subscriber.on('message', heard);
  subscriber.on('ready', heard);
  void subscriber.subscribe(channel);
  return () => subscriber.disconnect();
};
const port = { evalsha: call('evalsha'), eval: call('eval'), ...(hears === 'polling' ? {} : { subscribe }) };

const limiter = createLimiter({
  policy: managed('orders'),
  app: 'checkout',
  store: redisStore(port, { prefix: 'sluice' }),
  onStoreError: 'throw',
  timeoutMs: 60_000,
});

let isStopped = false;
const limits = [];
const windows = {};
async function ask() {
  const { allowed, limit, atMs, resetAfterMs } = await limiter.consume('one-key');
  const nowMs = Date.now();
  const last = limits.at(-1);
  if (last?.[0] === limit) last[2] = nowMs;
  else limits.push([limit, nowMs, nowMs]);
  const window = (windows[atMs + resetAfterMs] ??= { allowed: 0, limits: [] });
  if (allowed) window.allowed++;
  if (!window.limits.includes(limit)) window.limits.push(limit);
}

await ask();
process.stdout.write('ready\n');
process.stdin.once('data', () => (isStopped = true));
while (!isStopped) {
  // Denials from this process's memory follow each other in microtasks: no notification would be read between them.
  await Promise.all([ask(), Number(rate) > 0 ? sleep(1000 / Number(rate)) : turnOfEventLoop()]);
}
process.stdin.destroy();
process.stdout.write(`${JSON.stringify({ registryCalls, limits, windows })}\n`);
await limiter.close();
redis.disconnect();
