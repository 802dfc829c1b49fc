// Runs the suite on one Node or server after another:
//
//   npm run real -- nodes 24           those given, which the npm registry has, or each that is supported
//   npm run real -- servers PATH...    on Redis 6.2 without what reads instants of expiry: servers from 7.0 on report them
import { spawnSync } from 'node:child_process';

/** For Redis 6.2: the contracts of stores and of an adapter, the program beside its printed Lua, batches. */
const ON_6 = [
  ...['stores/contract', 'program/parity', 'limiter/redis'].map((path) => `packages/core/test/${path}`),
  ...['batching', 'denial-cache', 'clients'].map((path) => `packages/core/test/stores/redis/${path}`),
  'packages/express/test',
];

const suites = {
  nodes: (version) => {
    console.log(`\n=== Node ${version}`);
    return spawnSync('npx', ['--yes', '-p', `node@${version}`, '-c', 'node --version && npm test'], {
      stdio: 'inherit',
    });
  },
  servers: (server) => {
    const version = spawnSync(server, ['--version'], { encoding: 'utf8' }).stdout?.trim();
    console.log(`\n=== ${version ?? `${server} does not run`}`);
    const paths = version?.includes('v=6.') ? ON_6 : [];
    const env = { ...process.env, SLUICE_BUILT: '1', REDIS_SERVER: server };
    return spawnSync('node', ['scripts/test/test.mjs', ...paths], { stdio: 'inherit', env });
  },
};

const [kind, ...given] = process.argv.slice(2);
const all = given.length === 0 && kind === 'nodes' ? ['20.19', '22', '24'] : given;
if (all.length === 0) {
  console.error('Write the paths of the servers: npm run real -- servers PATH...');
  process.exit(2);
}
const failed = all.filter((one) => suites[kind](one).status !== 0);
console.log(failed.length === 0 ? '\nThe suite passed on all of them.' : `\nThe suite FAILED on ${failed.join(', ')}.`);
process.exit(failed.length === 0 ? 0 : 1);
