// Consumes two units of the ninth algorithm in Redis, and tells what it can do, as JSON:
// `node use-ninth.mjs PACKAGES REDIS_URL`, where PACKAGES is a built copy of packages/.
const [packages, url] = process.argv.slice(2);
const { createLimiter, redisStore } = await import(`${packages}/old-core/dist/index.js`);
const { splitStore } = await import(`${packages}/old-split/dist/index.js`);

const policy = { algorithm: 'shiftedWindow', limit: 5, windowMs: 86_400_000, shiftMs: 21_600_000 };
const store = redisStore(url, { prefix: 'sluice' });
const limiter = createLimiter({ name: 'orders', policy, store, onStoreError: 'throw', timeoutMs: 60_000 });
const decision = await limiter.consume('ann', 2);
await limiter.close();
await store.close();

let split;
try {
  createLimiter({ name: 'split', policy, store: splitStore({ membership: 2 }) });
} catch (error) {
  split = error.message;
}
let unknown;
try {
  createLimiter({ policy: { algorithm: 'tenth' } });
} catch (error) {
  unknown = error.message;
}
console.log(JSON.stringify({ decision, split, unknown }));
