// One process of several: consumes units of one key through the built package, and prints how many were allowed.
//
// argv: url, JSON of [{ make, options }] (one policy each), number of calls, how many of them at once (default: all)
import { createLimiter, fixedWindow, redisStore, slidingWindow, tokenBucket } from '@sluice/old-core';
import { Redis } from 'ioredis';

const [url, policies, calls, atOnce = calls] = process.argv.slice(2);
const made = { fixedWindow, slidingWindow, tokenBucket };
const list = JSON.parse(policies).map(({ make, options }) => made[make](options));

const redis = new Redis(url);
await redis.get('sluice:connected');
const limiter = createLimiter({
  name: 'shared',
  policy: list.length === 1 ? list[0] : list,
  store: redisStore(redis, { prefix: 'sluice' }),
  onStoreError: 'throw',
  timeoutMs: 60_000,
});

// All processes begin together: this one is ready, and waits for the signal.
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

const decisions = [];
let left = Number(calls);
async function oneAfterTheOther() {
  while (left-- > 0) decisions.push(await limiter.consume('one-key'));
}
await Promise.all(Array.from({ length: Number(atOnce) }, oneAfterTheOther));
const { atMs } = decisions[0];
process.stdout.write(
  `${JSON.stringify({ allowed: decisions.filter(({ allowed }) => allowed).length, atMs, clockMs: Date.now() })}\n`,
);
redis.disconnect();
