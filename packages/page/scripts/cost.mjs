// What a page costs a process: CPU of decisions in memory with and without it, in many short pairs, over 100 000 keys of which ten
// ask often and are denied, once it has counted for a second; and the memory that it holds then. Run `npm run build` first.
//
//   node --expose-gc packages/page/scripts/cost.mjs
import { createLimiter, fixedWindow } from '@sluice/old-core';
import { page } from '@sluice/page';

const KEYS = Array.from({ length: 100_000 }, (_, i) => `203.0.${i >> 8}.${i & 255}`);
const PER_SECOND = 50_000;
const PAIRS = 40;
/** Decisions of one half of a pair, and of one turn of the event loop, which comes every five milliseconds. */
const SLICE = 25_000;
const TURN = 250;
const limiter = createLimiter({ policy: fixedWindow({ limit: 1000, window: '1h' }) });
let at = 0;

/** Decides at that rate for half a second. Returns the CPU that a decision takes, in nanoseconds: without the waiting. */
async function costOfDecision() {
  let spent = 0;
  const startMs = performance.now();
  for (let done = 0; done < SLICE;) {
    const began = process.cpuUsage();
    for (let i = 0; i < TURN; i++, done++)
      await limiter.consume(KEYS[done % 10 === 0 ? at % 10 : (at++ * 7919) % KEYS.length]);
    const { user, system } = process.cpuUsage(began);
    spent += user + system;
    const waitMs = startMs + (done * 1000) / PER_SECOND - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
  }
  return (spent * 1000) / SLICE;
}

const heap = () => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
};
const made = () => page({ token: 'a long secret', log: () => undefined });

for (const key of KEYS) await limiter.consume(key);
for (let i = 0; i < 12; i++) await costOfDecision();
const differences = [];
for (let pair = 0; pair < PAIRS; pair++) {
  const without = await costOfDecision();
  const handler = made();
  await costOfDecision(); // it counts one of several from then on
  const beside = await costOfDecision();
  await handler.close();
  differences.push(((beside - without) * PER_SECOND) / 1e7);
}
differences.sort((a, b) => a - b);
const [low, median, high] = [PAIRS >> 2, PAIRS >> 1, (PAIRS * 3) >> 2].map((i) => differences[i].toFixed(2));
const before = heap();
const handler = made();
for (let i = 0; i < 6; i++) await costOfDecision();
const held = heap() - before;
await handler.close();
await limiter.close();
console.log(
  `${PER_SECOND} decisions a second over ${KEYS.length} keys: the page takes ${median} % of a CPU (half of ${PAIRS} pairs: ${low} to ${high})`,
);
console.log(`memory: ${held.toFixed(1)} MiB`);
