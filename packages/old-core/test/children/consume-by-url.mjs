// Consumes one unit of a limit of ten in the Redis of a URL, through the built package, and prints the source of the
// decision and the remaining units.
import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';

const limiter = createLimiter({
  policy: fixedWindow({ limit: 10, window: '1h' }),
  store: redisStore(process.argv[2], { prefix: 'sluice' }),
  onStoreError: 'throw',
  timeoutMs: 10_000,
});
const { source, remaining } = await limiter.consume('key');
console.log(source, remaining);
await limiter.close();
