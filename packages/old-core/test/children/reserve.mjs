// One process of several: reserves units of random keys under several policies through the built package, settles most
// of them, and keeps its own sums of what was used. With some still unsettled it prints those sums and pauses, so that
// it can be killed between reserving and settling; after a line of input it settles the rest and prints the sums
// again.
//
// argv: url, JSON of [{ make, options }] (a limiter each), number of reservations, seed
import { createLimiter, fixedWindow, redisStore, slidingWindow, tokenBucket } from '@sluice/old-core';
import { Redis } from 'ioredis';

const [url, policies, count, seed] = process.argv.slice(2);
const made = { fixedWindow, slidingWindow, tokenBucket };
const redis = new Redis(url);
const store = redisStore(redis, { prefix: 'sluice' });
const limiters = JSON.parse(policies).map(({ make, options }, i) =>
  createLimiter({ name: `p${i}`, policy: made[make](options), store, onStoreError: 'throw', timeoutMs: 60_000 }),
);

let state = Number(seed);
/** A whole number below `n`, the same for the same seed. */
const random = (n) => (state = (state * 48_271) % 2_147_483_647) % n;

const used = {};
const outstanding = [];
const settleOne = async () => {
  const [{ name, reservation, actual }] = outstanding.splice(random(outstanding.length), 1);
  await reservation.settle(actual);
  used[name] += actual - reservation.decision.cost;
};
const worker = async (reservations) => {
  for (let i = 0; i < reservations; i++) {
    const limiter = limiters[random(limiters.length)];
    const key = `client-${random(3)}`;
    const estimate = 1 + random(500);
    const reservation = await limiter.reserve(key, estimate);
    if (!reservation.decision.allowed) throw new Error('this test needs limits that are not reached');
    const name = `${limiter.name} ${key}`;
    used[name] = (used[name] ?? 0) + estimate;
    outstanding.push({ name, reservation, actual: random(3) === 0 ? 0 : random(1_500) });
    if (outstanding.length > 20) await settleOne();
  }
};
const report = () => process.stdout.write(`${JSON.stringify({ used, outstanding: outstanding.length })}\n`);

process.stdout.write('ready\n');
process.stdin.once('data', async () => {
  await Promise.all([worker(count / 2), worker(count / 2)]);
  report();
  process.stdin.once('data', async () => {
    while (outstanding.length > 0) await settleOne();
    report();
    redis.disconnect();
    process.stdin.destroy();
  });
});
