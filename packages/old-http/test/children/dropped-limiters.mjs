// Makes limiters in one of several ways, lets the garbage collector run, and prints the codes of the warnings.
//
// Run with --expose-gc.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow, memoryStore } from '@sluice/old-core';
import { createEnforcer } from '@sluice/old-http/spi';

const policy = fixedWindow({ limit: 1, window: '1h' });
const framework = {
  address: () => '192.0.2.1',
  header: () => undefined,
  method: () => 'GET',
  route: () => '/',
  raw: (request) => request,
  record: () => undefined,
};
const kept = [];
const store = memoryStore();
const ways = {
  create: () => createLimiter({ policy }).consume('key'),
  enforce: () => createEnforcer({ policy }, framework).layer.core.consume,
  kept: (i) => (kept[i] = createLimiter({ name: `tenant-${i}`, policy })).consume('key'),
  closed: async () => {
    const limiter = createLimiter({ policy });
    await limiter.consume('key');
    await limiter.close();
  },
  shared: () => createLimiter({ policy, store, shared: true }).consume('key'),
};
const codes = new Set();
process.on('warning', ({ code }) => codes.add(code));
const way = ways[process.argv[2]];
for (let i = 0; i < 20; i++) await way(i);
for (let attempt = 0; attempt < 50 && codes.size === 0; attempt++) {
  await sleep(2);
  globalThis.gc();
}
console.log([...codes].join(' ') || 'none');
