// A process of its own. argv: a URL of Redis, and what it does: `write` changes policies until it is killed, `hold` follows
// them. Prints a line when it has begun.
import { Redis } from 'ioredis';
import { createLimiter, fixedWindow, redisStore } from '../../../src/index.ts';
import { createPolicies, managed } from '../../../src/managed/index.ts';

const [url = '', what] = process.argv.slice(2);
const store = redisStore(new Redis(url), { prefix: 'sluice' });
if (what === 'write') {
  const policies = createPolicies(store);
  for (let n = 1; ; n++) {
    const policy = fixedWindow({ limit: n, window: '1h' });
    await policies.put('orders', policy, { apps: (before) => [...before, `app-${String(n % 5)}`], reset: n % 3 === 0 });
    await policies.override('orders', `user-${String(n % 7)}`, policy, { by: String(process.pid) });
    if (n === 1) console.log('ready');
  }
}
const limiter = createLimiter({ policy: managed('orders'), store, timeoutMs: 10_000, onStoreError: 'throw' });
await limiter.peek('ann');
console.log('ready');
