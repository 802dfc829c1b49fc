// Saturates a memory store of the built package, and prints the code of every warning that the process emits.
import { createLimiter, fixedWindow, memoryStore } from '@sluice/old-core';

process.on('warning', ({ code }) => process.stdout.write(`${code}\n`));

for (const name of ['one', 'other']) {
  const limiter = createLimiter({
    name,
    policy: fixedWindow({ limit: 1, window: '1m' }),
    store: memoryStore({ maxKeys: 100 }),
  });
  for (let i = 0; i < 1_000; i++) {
    await limiter.consume(`key-${i}`);
    await limiter.consume(`key-${i}`);
  }
}
