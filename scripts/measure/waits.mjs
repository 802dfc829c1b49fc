// What waiting costs: `node scripts/measure/waits.mjs [waiters]`. In memory, on Redis, and on Redis from four processes, that many requests wait for one key of
// a bucket with 1000 units a second: their order, the rate, and the calls of the store. Fails where a bound is missed.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../../packages/testkit/dist/redis-server.js';
import { Redis } from '../../packages/testkit/node_modules/ioredis/built/index.js';
import { createLimiter, redisStore, tokenBucket } from '../../packages/core/dist/index.js';

const WAITERS = Number(process.argv[2] ?? 10_000);
const PROCESSES = 4;
const CAPACITY = 50;
const policy = tokenBucket({ capacity: CAPACITY, refill: 1000, every: '1s' });
const self = fileURLToPath(import.meta.url);
const problems = [];
/** Reads the counters of the server. */
let observer;

const role = process.argv[3];
if (role === undefined) await main();
else await competitor(process.argv[4], Number(process.argv[5]));

async function main() {
  await alone('memory', undefined, () => undefined);
  const redis = await startRedis();
  observer = new Redis(redis.url);
  await alone('Redis', redisStore(redis.url), scriptCalls);
  await together(redis);
  observer.disconnect();
  await redis.stop();
  for (const problem of problems) console.error(problem);
  process.exit(problems.length === 0 ? 0 : 1);
}

async function alone(where, store, calls) {
  const limiter = createLimiter({ name: 'alone', policy, store, timeoutMs: 5000 });
  await store?.ready?.();
  const before = await calls();
  const order = [];
  const started = performance.now();
  const instants = [];
  await Promise.all(
    Array.from({ length: WAITERS }, async (_, i) => {
      const { atMs } = await limiter.wait('k');
      order.push(i);
      instants.push(atMs);
    }),
  );
  const tookMs = performance.now() - started;
  const made = ((await calls()) ?? NaN) - before;
  const isOrdered = order.every((i, at) => i === at);
  const first = Math.min(...instants);
  const early = instants.filter((atMs, i) => i + 1 > CAPACITY + (atMs - first) + 1).length;
  const rate = ((WAITERS - CAPACITY) / tookMs) * 1000;
  const left = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  await limiter.close();
  console.log(
    `${where}: ${WAITERS} waiters, in order: ${isOrdered}, early: ${early}, ${rate.toFixed(1)} units a second, ${Number.isNaN(made) ? '' : `${(made / WAITERS).toFixed(3)} calls a unit, `}timers left: ${left}`,
  );
  check(isOrdered, `${where}: not in order`);
  check(early === 0, `${where}: ${early} were early`);
  check(Math.abs(rate / 1000 - 1) <= 0.01, `${where}: the rate is off by more than 1 %`);
  check(!(made / WAITERS > 1.2), `${where}: more than 1.2 calls a unit`);
  check(left === 0, `${where}: timers are left`);
}

async function together(redis) {
  const before = await scriptCalls();
  const startAt = Date.now() + 1500;
  const children = Array.from({ length: PROCESSES }, () =>
    spawn(process.execPath, [self, String(WAITERS), 'competitor', redis.url, String(startAt)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
  const counts = await Promise.all(
    children.map(async (child) => {
      let printed = '';
      child.stdout.on('data', (text) => (printed += text));
      await once(child, 'close');
      return Number(printed);
    }),
  );
  const units = counts.reduce((sum, count) => sum + count);
  const made = (await scriptCalls()) - before;
  const shares = counts.map((count) => count / units);
  console.log(
    `Redis, ${PROCESSES} processes: ${units} units, shares ${shares.map((share) => `${(share * 100).toFixed(1)} %`).join(', ')}, ${(made / units).toFixed(3)} calls a unit`,
  );
  check(Math.min(...shares) >= 0.15, 'a process got less than 15 %');
}

async function competitor(url, startAt) {
  const limiter = createLimiter({ name: 'together', policy, store: redisStore(url), timeoutMs: 5000 });
  await limiter.peek('k');
  await new Promise((resolve) => setTimeout(resolve, startAt - Date.now()));
  let count = 0;
  const all = Array.from({ length: WAITERS }, () =>
    limiter
      .wait('k')
      .then(() => count++)
      .catch(() => undefined),
  );
  await new Promise((resolve) => setTimeout(resolve, 5000));
  console.log(count);
  await limiter.close();
  await Promise.all(all);
}

async function scriptCalls() {
  const stats = await observer.info('commandstats');
  return ['evalsha', 'eval'].reduce(
    (sum, name) => sum + Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0),
    0,
  );
}

function check(holds, problem) {
  if (!holds) problems.push(problem);
}
