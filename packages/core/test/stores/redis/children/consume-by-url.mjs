// Consumes a unit in the Redis of a URL, through the built package, and prints where it was decided.
import { createLimiter, fixedWindow, redisStore } from '@sluice/core';

const policy = fixedWindow({ limit: 10, window: '1h' });
const store = redisStore(process.argv[2], { prefix: 'sluice' });
const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 10_000 });
await store.ready(30_000); // on a busy machine the connection takes longer than the first decision waits for it
const { source, allowed } = await limiter.consume('key');
console.log(`${source}: ${allowed ? 'allowed' : 'denied'}`);
await limiter.close();
