// A process with a page of its own, that shares its counts: denies keys, says so, and stays until its input ends.
import { createLimiter, fixedWindow, redisStore } from '@sluice/core';
import { page } from '@sluice/page';

const [url, denials] = process.argv.slice(2);
const store = redisStore(url, { prefix: 'sluice' });
const policy = fixedWindow({ limit: 1, window: '1h' });
const limiter = createLimiter({ name: 'api', policy, store, timeoutMs: 60_000, onStoreError: 'throw' });
const made = page({ token: 'a long secret', share: true, log: () => undefined });
for (const [key, times] of Object.entries(JSON.parse(denials)))
  for (let i = 0; i <= times; i++) await limiter.consume(key);
console.log('denied');
process.stdin.resume();
process.stdin.on('end', async () => {
  await made.close();
  await limiter.close();
  await store.close();
});
