// Starts processes whose store is a URL, while others keep the machine busy, and counts who decided the first requests
// of each: `node scripts/starts.mjs [starts]`. Fails if one was not decided by Redis.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../packages/testkit/dist/redis-server.js';

const FIRST = 10;
const starts = Number(process.argv[2] ?? 100);
const core = new URL('../packages/core/dist/index.js', import.meta.url).href;
const program = `
const { createLimiter, redisStore, slidingWindow } = await import(${JSON.stringify(core)});
const store = redisStore(process.argv[1]);
const limiter = createLimiter({ policy: slidingWindow({ limit: 1000, window: '1m' }), store });
const decisions = await Promise.all(Array.from({ length: ${FIRST} }, (_, i) => limiter.consume('client-' + i)));
console.log(JSON.stringify(decisions.map(({ source }) => source)));
await limiter.close();
`;

const redis = await startRedis();
const busy = Array.from({ length: 4 }, () => spawn(process.execPath, ['-e', 'for (;;);']));
const sources = {};
for (let i = 0; i < starts; i++) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', program, redis.url], {
    cwd: fileURLToPath(new URL('../packages/core', import.meta.url)),
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let printed = '';
  child.stdout.on('data', (text) => (printed += text));
  await once(child, 'close');
  for (const source of JSON.parse(printed)) sources[source] = (sources[source] ?? 0) + 1;
}
for (const child of busy) child.kill('SIGKILL');
await redis.stop();
console.log(`${starts} starts, the first ${FIRST} decisions of each: ${JSON.stringify(sources)}`);
process.exit(sources.redis === starts * FIRST ? 0 : 1);
