// One process of several that lease one key: consumes until it is stopped, and prints the allowed units.
//
// argv: url, JSON of the options of fixedWindow Prints lines of JSON: { window, units, leased }: by the window of the
// clock, which all processes and the server share here.
import { setTimeout as sleep } from 'node:timers/promises';
import { createLimiter, fixedWindow, redisStore } from '@sluice/core';
import { Redis } from 'ioredis';

const [url, options] = process.argv.slice(2);
const policy = fixedWindow(JSON.parse(options));
const limiter = createLimiter({
  name: 'hot',
  policy,
  store: redisStore(new Redis(url)),
  lease: true,
  onStoreError: 'deny',
});
const windowOf = (ms) => Math.floor(ms / policy.windowMs);

process.stdin.on('end', () => process.exit(0)); // the parent process has ended
process.stdin.resume();
process.stdout.write('ready\n');

for (;;) {
  const counted = new Map();
  for (let i = 0; i < 25; i++) {
    const before = windowOf(Date.now());
    const { allowed, source, atMs } = await limiter.consume('one-key');
    const after = windowOf(Date.now());
    if (!allowed) continue;
    // Spent at some instant in between; the window is unknown if one began meanwhile.
    const window = source === 'lease' ? (before === after ? before : undefined) : windowOf(atMs);
    if (window === undefined) continue;
    const count = counted.get(window) ?? { units: 0, leased: 0 };
    counted.set(window, { units: count.units + 1, leased: count.leased + (source === 'lease' ? 1 : 0) });
  }
  for (const [window, count] of counted) process.stdout.write(`${JSON.stringify({ window, ...count })}\n`);
  await sleep(2);
}
