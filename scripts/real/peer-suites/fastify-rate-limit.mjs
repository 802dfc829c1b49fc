// The suite of @fastify/rate-limit, unchanged, on stores of @sluice/compat/stores in memory and in Redis.
//
//   npm run real -- stores, or: node scripts/real/peer-suites/fastify-rate-limit.mjs [REPOSITORY]
import { spawnSync } from 'node:child_process';
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, relative } from 'node:path';

import { startRedis } from '../../../packages/testkit/dist/redis-server.js';
import { asAllowed, checkedOut, installed, linked, numbered, replaced, root } from './suite.mjs';

const NAME = '@fastify/rate-limit';
const folder = checkedOut(NAME, process.argv[2]);
installed(folder, [
  'fastify@5',
  '@lukeed/ms@2',
  'fastify-plugin@6',
  'ip-address@10',
  'toad-cache@3',
  '@sinonjs/fake-timers@15',
]);
linked(folder, ['core', 'compat']);
replaced(folder, {
  'fastify-local-store.cjs': 'store/LocalStore.js',
  'fastify-redis-store.cjs': 'store/RedisStore.js',
});
const ioredis = join(folder, 'node_modules/ioredis');
mkdirSync(ioredis, { recursive: true });
writeFileSync(join(ioredis, 'index.js'), '');
replaced(folder, { 'ioredis-on-port.cjs': 'node_modules/ioredis/index.js' });

const itself = createRequire(join(root, 'packages/compat/package.json')).resolve('ioredis');
const redis = await startRedis();
const tests = readdirSync(join(folder, 'test'), { recursive: true })
  .filter((file) => file.endsWith('.test.js'))
  .map((file) => join('test', file));
const reporter = new URL('line-reporter.mjs', import.meta.url).href;
const { stdout } = spawnSync('node', ['--test', '--test-concurrency=1', `--test-reporter=${reporter}`, ...tests], {
  cwd: folder,
  encoding: 'utf8',
  env: { ...process.env, SUITE_REDIS_PORT: new URL(redis.url).port, SUITE_IOREDIS: itself },
  stdio: ['ignore', 'pipe', 'inherit'],
});
await redis.stop();
const cases = new Map();
for (const line of stdout.split('\n').filter(Boolean)) {
  const { file, name, passed } = JSON.parse(line);
  if (name.endsWith('.test.js')) continue; // the file itself
  cases.set(numbered(cases, `${relative(join(folder, 'test'), file)} > ${name}`), passed);
}
process.exitCode = asAllowed(NAME, cases) ? 0 : 1;
