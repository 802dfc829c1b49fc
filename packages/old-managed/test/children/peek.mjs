// One process of several: looks at one key of a managed policy again and again through the built package, and prints each
// limit that it sees, with the instant, until its input ends.
//
// argv: url of Redis
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { createLimiter, redisStore } from '@sluice/old-core';
import { managed } from '@sluice/old-managed';

const redis = new Redis(process.argv[2]);
const limiter = createLimiter({
  policy: managed('orders'),
  app: 'checkout',
  store: redisStore(redis, { prefix: 'sluice' }),
  onStoreError: 'throw',
  timeoutMs: 60_000,
});

let isStopped = false;
process.stdin.once('data', () => (isStopped = true));
let last;
while (!isStopped) {
  const { limit } = await limiter.peek('ann');
  if (limit !== last) process.stdout.write(`${JSON.stringify({ limit, atMs: Date.now() })}\n`);
  last = limit;
  await sleep(5);
}
process.stdin.destroy();
await limiter.close();
redis.disconnect();
