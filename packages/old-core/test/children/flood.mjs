// Prints by how many megabytes a memory store of the built package grows, when far more keys are denied than it can
// remember: under the plain policy, and under one that escalates and has several policies.
import { createLimiter, escalate, fixedWindow, memoryStore, slidingWindow } from '@sluice/old-core';

const bytes = () => {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

const before = bytes();
const store = memoryStore({ clock: () => 1_795_262_400_250 });
const limiter = createLimiter({
  policy: [
    fixedWindow({ name: 'quarter', limit: 1, window: '15m' }),
    slidingWindow({ name: 'day', limit: 100, window: '1d' }),
  ],
  escalate: escalate({ after: 1, block: '1d', decay: '1d' }),
  store,
});
let denied = 0;
for (let i = 0; i < 300_000; i++) {
  await limiter.consume(`2001:db8:${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}::/64`);
  const { allowed } = await limiter.consume(`2001:db8:${(i >> 16).toString(16)}:${(i & 0xffff).toString(16)}::/64`);
  if (!allowed) denied++;
}
process.stdout.write(JSON.stringify({ megabytes: Math.round((bytes() - before) / 1e6), denied }));
