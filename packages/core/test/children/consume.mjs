// One process of several: consumes units of one key through the built package, all at once, and prints how many were admitted.
//
// argv: url, JSON of [{ make, options }] (one policy each), number of calls
import { createLimiter, fixedWindow, redisStore, slidingWindow, tokenBucket } from '@sluice/core';
import { Redis } from 'ioredis';

const [url, policies, calls] = process.argv.slice(2);
const made = { fixedWindow, slidingWindow, tokenBucket };
const list = JSON.parse(policies).map(({ make, options }) => made[make](options));

const redis = new Redis(url);
await redis.get('sluice:connected');
const limiter = createLimiter({
  name: 'shared',
  policy: list.length === 1 ? list[0] : list,
  store: redisStore(redis),
  onStoreError: 'throw',
  timeoutMs: 60_000,
});

// All begin together: this one is ready, and waits for the word.
process.stdout.write('ready\n');
await new Promise((resolve) => process.stdin.once('data', resolve));
process.stdin.destroy();

const decisions = await Promise.all(Array.from({ length: Number(calls) }, () => limiter.consume('one-key')));
const { atMs } = decisions[0];
process.stdout.write(
  `${JSON.stringify({ admitted: decisions.filter(({ allowed }) => allowed).length, atMs, clockMs: Date.now() })}\n`,
);
redis.disconnect();
