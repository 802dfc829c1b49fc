// One instance of several that share a limit: consumes units of one key until its input ends, and prints the allowed
// units, by the instant of the decision and by the date before and after it, and every other result except an ordinary
// denial. argv: a URL of Redis.
import { createLimiter, fixedWindow } from '../../../src/index.ts';
import { redisMembership, splitStore } from '../../../src/split/index.ts';

const [url = ''] = process.argv.slice(2);
const membership = redisMembership(url, { prefix: 'sluice', heartbeatMs: 300, ttlMs: 1500 });
const limiter = createLimiter({
  name: 'shared',
  policy: fixedWindow({ limit: 60, window: '1s', align: 'clock' }),
  store: splitStore({ membership, graceMs: 1600 }),
  onStoreError: 'deny',
});

let isStopped = false;
process.stdin.on('end', () => (isStopped = true)).resume();
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
