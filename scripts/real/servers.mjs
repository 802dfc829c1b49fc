// Runs the suite on one server after another: `npm run real -- servers /usr/bin/redis-server /opt/valkey/bin/valkey-server`.
// On Redis 6.2 it runs the suites that do not read instants of expiry, which only servers from 7.0 on report.
import { spawnSync } from 'node:child_process';

/** For Redis 6.2: the contracts of stores and of an adapter, the program beside its printed Lua, batches. */
const ON_6 = [
  ...['stores/contract', 'program/parity', 'limiter/redis'].map((path) => `packages/core/test/${path}`),
  ...['batching', 'denial-cache', 'clients'].map((path) => `packages/core/test/stores/redis/${path}`),
  'packages/express/test',
];

const servers = process.argv.slice(2);
if (servers.length === 0) {
  console.error('Write the paths of the servers: npm run real -- servers PATH...');
  process.exit(2);
}
const failed = servers.filter((server) => {
  const version = spawnSync(server, ['--version'], { encoding: 'utf8' }).stdout?.trim();
  console.log(`\n=== ${version ?? `${server} does not run`}`);
  const paths = version?.includes('v=6.') ? ON_6 : [];
  const env = { ...process.env, SLUICE_BUILT: '1', REDIS_SERVER: server };
  return spawnSync('node', ['scripts/test/test.mjs', ...paths], { stdio: 'inherit', env }).status !== 0;
});
console.log(failed.length === 0 ? '\nThe suite passed on all of them.' : `\nThe suite FAILED on ${failed.join(', ')}.`);
process.exit(failed.length === 0 ? 0 : 1);
