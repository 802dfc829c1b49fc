// 12 800 decisions over 64 keys with a limit of 50, in memory and over the Redis of the argument: prints how many were
// allowed for each key, the sources of the decisions, and the order of a hundred waiters.
import { createLimiter, fixedWindow, memoryStore, redisStore, tokenBucket } from '@sluice/old-core';

const KEYS = 64;
const EACH = 200;
const url = process.argv[2];
const shared = { onStoreError: 'throw', timeoutMs: 60_000 };

/** Every key in turn, 800 decisions at a time. */
async function allowedByKey(limiter) {
  const allowed = new Array(KEYS).fill(0);
  const sources = new Set();
  let asked = 0;
  while (asked < KEYS * EACH) {
    const batch = Array.from({ length: 800 }, () => asked++ % KEYS);
    const decisions = await Promise.all(batch.map((key) => limiter.consume(`key-${key}`)));
    for (const [i, decision] of decisions.entries()) {
      if (decision.allowed) allowed[batch[i]] += 1;
      sources.add(decision.source);
    }
  }
  return { allowed, asked, sources: [...sources].sort() };
}

/** What a hundred waiters get of a bucket, in the order in which they are allowed. */
async function order(limiter) {
  const seen = [];
  await Promise.all(Array.from({ length: 100 }, async (_, i) => limiter.wait('key').then(() => seen.push(i))));
  return seen;
}

const policy = fixedWindow({ limit: 50, window: '1h' });
const bucket = tokenBucket({ capacity: 10, refill: 1000, every: '1s' });
const results = {};
for (const [kind, open] of [
  ['memory', () => memoryStore()],
  ['redis', () => redisStore(url, { prefix: `sluice:runtime-${process.pid}` })],
]) {
  const store = open();
  const counting = createLimiter({ name: 'counting', policy, store, ...shared });
  const waiting = createLimiter({ name: 'waiting', policy: bucket, store, ...shared });
  results[kind] = { ...(await allowedByKey(counting)), order: await order(waiting) };
  await counting.close();
  await waiting.close();
}
console.log(JSON.stringify(results));
