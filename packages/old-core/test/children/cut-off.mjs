// Decides through a sentinel of node-redis that reaches the primary by another port, and prints that. At the first
// input line it requests fifty decisions at once, and prints how many resolved; at the second it tries until a
// decision resolves again. It is a process of its own because node-redis recognises errors by their class while jest
// gives tests other classes, and because handles left after a failover would keep jest alive.
import { createSentinel } from 'redis';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';

process.stdin.on('end', () => process.exit());
const client = createSentinel(JSON.parse(process.argv[2])).on('error', () => undefined);
await client.connect();
const limiter = createLimiter({
  policy: fixedWindow({ limit: 1_000, window: '1h' }),
  store: redisStore(client, { prefix: 'sluice', breaker: false }),
  onStoreError: 'throw',
  timeoutMs: 2_000,
});
await limiter.consume('key');
console.log('decided');

await once(process.stdin, 'data');
const outcomes = await Promise.allSettled(Array.from({ length: 50 }, () => limiter.consume('key')));
console.log(outcomes.filter(({ status }) => status === 'fulfilled').length);

await once(process.stdin, 'data');
for (;;) {
  try {
    console.log((await limiter.consume('key')).source);
    process.exit();
  } catch {
    await sleep(50);
  }
}
