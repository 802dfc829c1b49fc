// What a page costs a process: CPU at 50 000 decisions a second in memory with and without it, in many short pairs, over 100 000
// keys of which some are denied, once it has seen a second; and the memory that it holds then. Run `npm run build` first.
//
//   node --expose-gc packages/page/scripts/cost.mjs
import { createLimiter, fixedWindow } from '@sluice/core';
import { page } from '@sluice/page';

const KEYS = Array.from({ length: 100_000 }, (_, i) => `203.0.${i >> 8}.${i & 255}`);
const PER_SECOND = 50_000;
const PAIRS = 40;
const SECONDS = 0.25;
// Keys that ask seldom stay allowed for as long as this runs, and the ten that ask often are denied.
const limiter = createLimiter({ policy: fixedWindow({ limit: 1000, window: '1h' }) });
let at = 0;

/** Decides 50 000 times a second for a time, in portions, as the requests of an event loop. Returns the CPU in ms for each second. */
async function cpuOfASecond() {
  const began = process.cpuUsage();
  const endMs = performance.now() + SECONDS * 1000;
  let done = 0;
  while (performance.now() < endMs) {
    const due = Math.min(PER_SECOND * SECONDS, ((SECONDS * 1000 - (endMs - performance.now())) * PER_SECOND) / 1000);
    // A tenth of the requests is of ten keys, which are denied soon.
    for (; done < due; done++) await limiter.consume(KEYS[done % 10 === 0 ? at % 10 : (at++ * 7919) % KEYS.length]);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const { user, system } = process.cpuUsage(began);
  return (user + system) / 1000 / SECONDS;
}

const heap = () => {
  globalThis.gc?.();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return (heapUsed + arrayBuffers) / 2 ** 20;
};

for (const key of KEYS) await limiter.consume(key);
for (let i = 0; i < 12; i++) await cpuOfASecond(); // until the ten keys are denied
const differences = [];
for (let pair = 0; pair < PAIRS; pair++) {
  const without = await cpuOfASecond();
  const handler = page({ token: 'a long secret', log: () => undefined });
  for (let i = 0; i < 5; i++) await cpuOfASecond(); // it counts one of several from then on
  const beside = await cpuOfASecond();
  await handler.close();
  differences.push((beside - without) / 10);
}
differences.sort((a, b) => a - b);
const [quarter, median, most] = [PAIRS >> 2, PAIRS >> 1, (PAIRS * 3) >> 2].map((i) => differences[i].toFixed(2));
const before = heap();
const handler = page({ token: 'a long secret', log: () => undefined });
for (let i = 0; i < 12; i++) await cpuOfASecond();
const held = heap() - before;
await handler.close();
await limiter.close();
console.log(
  `${PER_SECOND} decisions a second over ${KEYS.length} keys: the page takes ${median} % of a CPU (half of ${PAIRS} pairs: ${quarter} to ${most})`,
);
console.log(`memory: ${held.toFixed(1)} MiB`);
