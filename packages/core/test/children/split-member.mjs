// One instance of several that share a limit: asks for units of one key again and again, until its input ends, and prints what it was given, by
// the instant of the decision and by the date before and after it, and whatever else it was answered but a plain refusal.
//
// argv: url, JSON of { limit, windowMs, heartbeatMs, ttlMs }
import { createLimiter, fixedWindow, redisMembership, splitStore } from '@sluice/core';

const [url, json] = process.argv.slice(2);
const { limit, windowMs, heartbeatMs, ttlMs } = JSON.parse(json);
const limiter = createLimiter({
  name: 'shared',
  policy: fixedWindow({ limit, window: windowMs, align: 'clock' }),
  store: splitStore({ membership: redisMembership(url, { heartbeatMs, ttlMs }), graceMs: ttlMs + 100 }),
  onStoreError: 'deny',
});

let isOver = false;
process.stdin.on('end', () => (isOver = true)).resume();
process.stdout.write('ready\n');
while (!isOver) {
  for (let i = 0; i < 50; i++) {
    const beforeMs = Date.now();
    const { allowed, source, outcome, atMs } = await limiter.consume('one-key');
    if (source === 'split' && !allowed) break;
    // Told at once, so that what a process has given is known when it is killed.
    process.stdout.write(`${JSON.stringify({ allowed, source, outcome, instants: [atMs, beforeMs, Date.now()] })}\n`);
    if (!allowed) break;
  }
  await new Promise((resolve) => setTimeout(resolve, 3));
}
await limiter.close();
process.exit();
