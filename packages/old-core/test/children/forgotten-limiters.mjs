// Makes limiters, drops them without closing them, and prints how many the metrics show before and after.
//
// Run with --expose-gc.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow } from '@sluice/old-core';
import { collectMetrics } from '@sluice/old-core/metrics';
import { register } from 'prom-client';

collectMetrics();
const shown = async () => (await register.getSingleMetric('sluice_keys_in_memory').get()).values.length;
// In a function, so that no reference is left after it returns.
async function use(count) {
  const limiters = Array.from({ length: count }, (_, i) =>
    createLimiter({ name: `limiter-${i}`, policy: fixedWindow({ limit: 1, window: '1h' }) }),
  );
  for (const limiter of limiters) await limiter.consume('key');
  const all = await shown();
  limiters.length = 0; // until here they are referenced
  return all;
}
const before = await use(100);
// A weak reference that was read is kept until the turn ends.
for (let attempt = 0; attempt < 200 && (await shown()) > 0; attempt++) {
  await sleep(10);
  globalThis.gc();
}
process.stdout.write(`${before} ${await shown()}`);
