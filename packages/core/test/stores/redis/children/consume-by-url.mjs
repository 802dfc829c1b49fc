// Consumes a unit in the Redis of a URL, through the built package, and prints where it was decided.
import { createLimiter, fixedWindow, redisStore } from '@sluice/core';

const policy = fixedWindow({ limit: 10, window: '1h' });
const store = redisStore(process.argv[2], { prefix: 'sluice' });
const limiter = createLimiter({ policy, store, onStoreError: 'throw', timeoutMs: 10_000 });
const { source, allowed } = await limiter.consume('key');
console.log(`${source}: ${allowed ? 'allowed' : 'denied'}`);
await limiter.close();
