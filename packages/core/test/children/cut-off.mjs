// Decides through a sentinel of node-redis, which reaches the primary by way of another port, and says so. At the first line it is sent it asks for fifty
// decisions at once, and prints how many came back; at the second it tries until there is a decision again. A process of its own: node-redis tells errors by
// their class, and jest gives tests classes of their own; and what it leaves behind at a failover would keep jest from ending.
import { createSentinel } from 'redis';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow, redisStore } from '@sluice/core';

process.stdin.on('end', () => process.exit());
const client = createSentinel(JSON.parse(process.argv[2])).on('error', () => undefined);
await client.connect();
const limiter = createLimiter({
  policy: fixedWindow({ limit: 1_000, window: '1h' }),
  store: redisStore(client, { breaker: false }),
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
