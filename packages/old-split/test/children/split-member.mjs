// One instance of several that share a limit: consumes units of one key until its input ends, and prints the allowed
// units, by
// the instant of the decision and by the date before and after it, and every other result except an ordinary denial.
//
// argv: url, JSON of { limit, windowMs, heartbeatMs, ttlMs }
import { createLimiter, fixedWindow } from '@sluice/old-core';
import { redisMembership, splitStore } from '@sluice/old-split';

const [url, json] = process.argv.slice(2);
const { limit, windowMs, heartbeatMs, ttlMs } = JSON.parse(json);
const limiter = createLimiter({
  name: 'shared',
  policy: fixedWindow({ limit, window: windowMs, align: 'clock' }),
  store: splitStore({
    membership: redisMembership(url, { prefix: 'sluice', heartbeatMs, ttlMs }),
    graceMs: ttlMs + 100,
  }),
  onStoreError: 'deny',
});

let isStopped = false;
process.stdin.on('end', () => (isStopped = true)).resume();
process.stdout.write('ready\n');
while (!isStopped) {
  for (let i = 0; i < 50; i++) {
    const beforeMs = Date.now();
    const { allowed, source, outcome, atMs } = await limiter.consume('one-key');
    if (source === 'split' && !allowed) break;
    // Printed at once, so that the units are known when the process is killed.
    process.stdout.write(`${JSON.stringify({ allowed, source, outcome, instants: [atMs, beforeMs, Date.now()] })}\n`);
    if (!allowed) break;
  }
  await new Promise((resolve) => setTimeout(resolve, 3));
}
await limiter.close();
process.exit();
