// Prints by how many megabytes the heap of a process grows under traffic whose keys come and go, in a memory store of
// the built package.
import { createLimiter, fixedWindow, memoryStore, slidingWindow } from '@sluice/old-core';

let nowMs = 1_795_262_400_250;
const clock = () => nowMs;
const heapMegabytes = () => {
  globalThis.gc();
  globalThis.gc();
  return process.memoryUsage().heapUsed / 1e6;
};

const traffic = {
  'new keys': async (limiter, i) => {
    nowMs += 100;
    await limiter.consume(`client-${i}`);
  },
  'one key, reset': async (limiter) => {
    await limiter.consume('one');
    await limiter.reset('one');
  },
  'one key, refunded': async (limiter) => limiter.refund(await limiter.consume('one')),
  'one key, blocked': async (limiter) => {
    await limiter.block('one', '1d');
    await limiter.unblock('one');
  },
  'one key, denied and reset': async (limiter) => {
    while ((await limiter.consume('one')).allowed);
    await limiter.reset('one');
  },
};

const grown = {};
for (const policy of [fixedWindow({ limit: 2, window: '1s' }), slidingWindow({ limit: 2, window: '1s' })]) {
  for (const [what, step] of Object.entries(traffic)) {
    const limiter = createLimiter({ policy, store: memoryStore({ clock }) });
    for (let i = 0; i < 1_000; i++) await step(limiter, i);
    const before = heapMegabytes();
    for (let i = 1_000; i < 50_000; i++) await step(limiter, i);
    grown[`${policy.algorithm}: ${what}`] = Math.round(heapMegabytes() - before);
    await limiter.close();
  }
}
process.stdout.write(JSON.stringify(grown));
