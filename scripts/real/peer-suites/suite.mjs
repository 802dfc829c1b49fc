// The suite of another package, at a named commit, on what stands in for it here: fetched into a folder of its own, run,
// and compared with the list of cases that are known to differ. A new failure is red, and so is a case of the list that
// passes.
//
//   node scripts/real/peer-suites/suite.mjs express-rate-limit [REPOSITORY]     from its home, or from this repository
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../../../packages/testkit/dist/redis-server.js';

const here = fileURLToPath(new URL('.', import.meta.url));
const root = join(here, '../../..');
const compat = join(root, 'packages/compat');
/** The least share of cases that pass. */
const LEAST_PASSED = 0.98;

const [name, from] = process.argv.slice(2);
const allowed = JSON.parse(readFileSync(join(here, 'allowed.json'), 'utf8'))[name];
// Not below node_modules, where Jest finds nothing.
const above = mkdtempSync(join(tmpdir(), 'sluice-suite-'));
process.on('exit', () => rmSync(above, { recursive: true, force: true }));
const folder = join(above, 'suite');
const cases = new Map();

/** By package: installs what its suite needs, puts ours in place of its own, and runs it. */
const SUITES = {
  /** Nothing of it is changed: its imports of the source lead to ours. */
  'express-rate-limit': () => {
    install('ratelimit-header-parser@0.1.0', 'supertest@7.3.2');
    cpSync(join(compat, 'dist/express-rate-limit.d.ts'), join(folder, 'dist/index.d.ts'));
    const ours = {
      ...sameNames('index', 'headers', 'validations', 'memory-store', 'console-logger'),
      types: 'options',
    };
    const sources = Object.entries(ours).map(([theirs, own]) => [
      `/source/${theirs}(\\.js)?$`,
      join(compat, `src/express-rate-limit/${own}.ts`),
    ]);
    runJest({
      testMatch: ['<rootDir>/test/library/**/*-test.ts'],
      testTimeout: 30_000,
      modulePaths: [join(compat, 'node_modules'), join(root, 'node_modules')],
      testEnvironmentOptions: { customExportConditions: ['@sluice/source', 'node', 'node-addons'] },
      moduleNameMapper: { ...Object.fromEntries(sources), '^(\\.{1,2}/helpers/.*)\\.js$': '$1' },
      transform: compiled({ target: 'es2022', parser: { syntax: 'typescript' } }),
    });
  },
  /** On stores in memory and in Redis. */
  '@fastify/rate-limit': (redis) => {
    install(
      'fastify@5',
      '@lukeed/ms@2',
      'fastify-plugin@6',
      'ip-address@10',
      'toad-cache@3',
      '@sinonjs/fake-timers@15',
    );
    link('core', 'compat');
    replace('fastify-local-store.cjs', 'store/LocalStore.js');
    replace('fastify-redis-store.cjs', 'store/RedisStore.js');
    replace('ioredis-on-port.cjs', 'node_modules/ioredis/index.js');
    const tests = readdirSync(join(folder, 'test'), { recursive: true }).filter((file) => file.endsWith('.test.js'));
    const flags = ['--test', '--test-concurrency=1', `--test-reporter=${join(here, 'line-reporter.mjs')}`];
    const { stdout } = spawnSync('node', [...flags, ...tests.map((file) => join('test', file))], {
      ...{ cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] },
      env: {
        ...process.env,
        SUITE_REDIS_PORT: String(redis.port),
        SUITE_IOREDIS: createRequire(join(compat, 'package.json')).resolve('ioredis'),
      },
    });
    for (const line of stdout.split('\n').filter(Boolean)) {
      const { file, name: title, passed } = JSON.parse(line);
      // The file itself is a test, too.
      if (!title.endsWith('.test.js')) add(`${relative(join(folder, 'test'), file)} > ${title}`, passed);
    }
  },
  /** On the storage in memory, and in Redis. Its version of NestJS is 11. */
  '@nestjs/throttler': (redis) => {
    const nest = ['common', 'core', 'testing', 'platform-express', 'platform-fastify'];
    const packages = nest.map((each) => `@nestjs/${each}@11.1.0`);
    install(...packages, 'reflect-metadata@0.2.2', 'rxjs@7.8.2', 'pactum@3', 'jest@29.7.0');
    link('core', 'compat');
    replace('nest-throttler-service.cjs', 'src/throttler.service.ts');
    const config = {
      testRegex: '(spec|e2e-spec)\\.ts$',
      testEnvironment: 'node',
      moduleFileExtensions: ['js', 'json', 'ts'],
      transform: compiled({
        target: 'es2021',
        parser: { syntax: 'typescript', decorators: true },
        transform: { legacyDecorator: true, decoratorMetadata: true },
        keepClassNames: true,
      }),
    };
    // Some of its tests do not wait for what they expect to be rejected.
    const NODE_OPTIONS = '--unhandled-rejections=warn';
    const jest = join(above, 'node_modules/jest/bin/jest.js');
    runJest(config, { jest, prefix: 'memory: ', env: { NODE_OPTIONS } });
    runJest(config, { jest, prefix: 'Redis: ', env: { NODE_OPTIONS, SUITE_REDIS: redis.url } });
  },
};

mkdirSync(folder);
for (const args of [
  ['init', '--quiet'],
  ['fetch', '--quiet', '--depth', '1', from ?? allowed.from, allowed.commit],
  ['checkout', '--quiet', 'FETCH_HEAD'],
])
  run('git', args, folder);
const redis = await startRedis();
SUITES[name](redis);
await redis.stop();
process.exitCode = isAsAllowed(allowed) ? 0 : 1;

function run(command, args, cwd) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit' });
  if (status !== 0) throw error ?? new Error(`${command} ${args.join(' ')} failed`);
}

/** Installs packages above the suite, and none of those that its own manifest names. */
function install(...packages) {
  writeFileSync(join(above, 'package.json'), '{ "private": true }');
  run('npm', ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps', ...packages], above);
}

/** Links packages of this workspace above the suite, as they are built. */
function link(...names) {
  mkdirSync(join(above, 'node_modules/@sluice'), { recursive: true });
  for (const each of names) symlinkSync(join(root, 'packages', each), join(above, 'node_modules/@sluice', each));
}

/** Copies a file of this folder into the suite. */
function replace(file, target) {
  mkdirSync(dirname(join(folder, target)), { recursive: true });
  cpSync(join(here, file), join(folder, target));
}

function sameNames(...names) {
  return Object.fromEntries(names.map((each) => [each, each]));
}

function compiled(jsc) {
  const transform = join(root, 'scripts/test/jest-transform.mjs');
  return { '\\.ts$': [transform, { swcrc: false, module: { type: 'commonjs' }, jsc }] };
}

/** Runs Jest, that of this workspace if no other is named, and adds its cases. */
function runJest(config, { jest = join(root, 'node_modules/jest/bin/jest.js'), prefix = '', env = {} } = {}) {
  const [file, results] = ['jest.sluice.json', 'results.json'].map((each) => join(folder, each));
  writeFileSync(file, JSON.stringify({ rootDir: folder, ...config }));
  const flags = ['--config', file, '--silent', '--forceExit', '--json', '--outputFile', results];
  spawnSync('node', ['--experimental-vm-modules', '--no-warnings', jest, ...flags], {
    ...{ cwd: folder, stdio: 'inherit', env: { ...process.env, ...env } },
  });
  for (const { assertionResults, message, name: path } of JSON.parse(readFileSync(results, 'utf8')).testResults) {
    if (assertionResults.length === 0) throw new Error(`${path} did not run: ${message}`);
    for (const { ancestorTitles, title, status } of assertionResults)
      if (status !== 'pending' && status !== 'todo')
        add(prefix + [...ancestorTitles, title].join(' > '), status === 'passed');
  }
}

/** A case of several that have one title is told by its number. */
function add(title, passed) {
  let numbered = title;
  for (let n = 2; cases.has(numbered); n++) numbered = `${title} (${n})`;
  cases.set(numbered, passed);
}

/** Compares the cases with the list. Those under `machine` depend on the machine, and not on us: they are left out. */
function isAsAllowed({ cases: known, machine = {} }) {
  const unknown = Object.keys(machine).filter((title) => !cases.delete(title));
  const failed = [...cases].filter(([, passed]) => !passed).map(([title]) => title);
  const unexpected = failed.filter((title) => !(title in known));
  const passing = Object.keys(known).filter((title) => cases.get(title) !== false);
  for (const title of unknown) console.error(`in the list, and there is no such case: ${title}`);
  for (const title of unexpected) console.error(`failed, and is not in the list: ${title}`);
  for (const title of passing) console.error(`in the list, and did not fail: ${title}`);
  console.log(`${name}: ${cases.size - failed.length} of ${cases.size} cases pass; ${failed.length} differ`);
  for (const title of failed) if (title in known) console.log(`  ${title}: ${known[title]}`);
  return unexpected.length + passing.length === 0 && cases.size - failed.length >= LEAST_PASSED * cases.size;
}
