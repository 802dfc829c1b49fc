// Installs the packages, as they would be published, into empty folders, and uses them as a new user does: with each
// framework on each Node.js, compiled by each TypeScript, and under other package managers, test runners and bundlers.
//
//   npm run real -- packages             all rows
//   npm run real -- packages nest yarn   the rows whose names hold one of these words
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../build/packages.mjs';
import { packAll } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'sluice-matrix-'));
const tarballs = Object.fromEntries(
  Object.values(PACKAGES).map(({ manifest: { name, version } }) => [
    name,
    `file:${join(work, `${name.slice(1).replace('/', '-')}-${version}.tgz`)}`,
  ]),
);

const onNodes = (versions, programs) =>
  versions.flatMap((version) =>
    programs.map((program) => ['npx', '--yes', '-p', `node@${version}`, '-c', `node --version && node ${program}`]),
  );
const onAllNodes = (...programs) => onNodes(['20.19', '22', '24', '26'], programs);
const nest = (major) => ({
  ...{ '@nestjs/common': major, '@nestjs/core': major, '@nestjs/platform-express': major },
  ...{ 'reflect-metadata': '0.2', rxjs: '7' },
});
const WITH_METRICS = { 'prom-client': '15' };
const WITH_EXPRESS = { express: '5', ...WITH_METRICS };
const NEXT = {
  ...{ next: '16', react: '19', 'react-dom': '19', ioredis: '6' },
  ...{ typescript: '5.9', '@types/node': '20', '@types/react': '19' },
};

const RUN_EXPRESS = ['framework.mjs', 'framework.cjs'].map((program) => ['node', program, 'express']);

/** Rows: what is installed beside core and the adapters, and commands, which install if npm does not (`installs`). */
const ROWS = {};
for (const [name, adapter, framework] of [
  ['Express 4', 'express', { express: '4' }],
  ['Express 5', 'express', { express: '5' }],
  ['Fastify 5', 'fastify', { fastify: '5' }],
  ['Koa 2', 'koa', { koa: '2' }],
  ['Koa 3', 'koa', { koa: '3' }],
  ['Hono 4', 'web', { hono: '4', '@hono/node-server': '2' }],
  ['NestJS 10', 'nestjs', nest('10')],
  ['NestJS 11', 'nestjs', nest('11')],
  ['NestJS 12', 'nestjs', nest('12')],
]) {
  const commands = onAllNodes(`framework.mjs ${adapter}`, `framework.cjs ${adapter}`);
  ROWS[name] = { adapters: [adapter], dependencies: { ...framework, ...WITH_METRICS }, commands };
}
for (const version of ['5.4', '5.9', '6', '7']) {
  ROWS[`TypeScript ${version}`] = {
    adapters: ['express', 'web'],
    dependencies: { typescript: version, '@types/node': '20', '@types/express': '5', hono: '4', ...WITH_EXPRESS },
    commands: ['nodenext', 'node16', 'bundler'].flatMap((module) => [
      compiler(module, 'program'),
      // Hono's own declarations need TypeScript 5.7.
      compiler(module, 'handlers', ...(version === '5.4' ? ['--skipLibCheck'] : [])),
    ]),
  };
}
Object.assign(ROWS, {
  'One copy': { adapters: ['express'], dependencies: WITH_EXPRESS, commands: onAllNodes('one-copy.mjs') },
  'Yarn PnP': {
    ...{ adapters: ['express'], dependencies: WITH_EXPRESS, prepare: useYarn, installs: false },
    commands: ['install', 'node framework.mjs express', 'node framework.cjs express'].map((command) =>
      `npx --yes -p @yarnpkg/cli-dist@4 yarn ${command}`.split(' '),
    ),
  },
  pnpm: {
    ...{ adapters: ['express'], dependencies: WITH_EXPRESS, prepare: usePnpm, installs: false },
    commands: [['npx', '--yes', 'pnpm@12', 'install', '--prefer-offline'], ...RUN_EXPRESS],
  },
  Bun: {
    ...{ adapters: ['express'], dependencies: WITH_EXPRESS, installs: false },
    commands: ['install', 'framework.mjs express', 'framework.cjs express'].map((command) =>
      `npx --yes -p bun@1.4.5 bun ${command}`.split(' '),
    ),
  },
  Vitest: {
    ...{ adapters: ['express'], dependencies: { ...WITH_EXPRESS, vitest: '3' } },
    commands: [['npx', 'vitest', 'run', 'express.vitest.test.mjs']],
  },
  esbuild: {
    ...{ adapters: ['express'], dependencies: { ...WITH_EXPRESS, esbuild: '0.28.2' } },
    commands: [['node', 'bundle.mjs']],
  },
  'Next.js 16': {
    ...{ adapters: ['web'], dependencies: NEXT, prepare: useNextExample },
    commands: [
      ['npx', 'next', 'build'],
      ['node', 'next.mjs'],
    ],
  },
  'SQLite store': {
    ...{ adapters: [], dependencies: { 'better-sqlite3': '13.2.0' } },
    commands: onNodes(['22', '24', '26'], ['--test sqlite-store.test.mjs']),
  },
});

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const wanted = Object.entries(ROWS).filter(
  ([name]) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
);
let failed = wanted.length === 0 ? 1 : 0;
try {
  packAll(work);
  for (const [name, row] of wanted) {
    const folder = prepared(name, row);
    const install = ['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline'];
    for (const command of row.installs === false ? row.commands : [install, ...row.commands]) {
      const error = run(folder, command);
      if (error !== undefined) failed++;
      console.log(`${name}: ${command.join(' ')}: ${error === undefined ? 'ok' : `FAILED\n${error}`}`);
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

/** A folder with the programs and a manifest, and nothing installed. */
function prepared(name, { adapters, dependencies, prepare }) {
  const folder = join(work, name.replaceAll(' ', '-').toLowerCase());
  cpSync(join(root, 'scripts/real/packages'), folder, { recursive: true });
  const ours = ['core', ...adapters].map((each) => [`@sluice/${each}`, tarballs[`@sluice/${each}`]]);
  const manifest = {
    ...{ name: 'a-new-user', private: true },
    dependencies: { ...Object.fromEntries(ours), ...dependencies },
    // No registry has what the packages need of each other.
    ...{ overrides: tarballs, resolutions: tarballs },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  prepare?.(folder);
  return folder;
}

/** The files of the example, as an application of Next.js has them. */
function useNextExample(folder) {
  cpSync(join(root, 'examples/nextjs/src'), join(folder, 'src'), { recursive: true });
  rmSync(join(folder, 'src/main.ts'));
  const compilerOptions = { allowImportingTsExtensions: true, noEmit: true, strict: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
}

function usePnpm(folder) {
  writeFileSync(join(folder, 'pnpm-workspace.yaml'), JSON.stringify({ overrides: tarballs, minimumReleaseAge: 0 }));
}

function useYarn(folder) {
  const registry = spawnSync('npm', ['config', 'get', 'registry'], { encoding: 'utf8' }).stdout.trim();
  const settings = {
    ...{ nodeLinker: 'pnp', pnpEnableEsmLoader: true, enableTelemetry: false, enableImmutableInstalls: false },
    ...{ npmMinimalAgeGate: 0, npmRegistryServer: registry, unsafeHttpWhitelist: [new URL(registry).hostname] },
  };
  writeFileSync(join(folder, '.yarnrc.yml'), JSON.stringify(settings));
}

/** Compiles a program that uses what users name most: strict, and with the declarations of libraries checked too. */
function compiler(module, program, ...more) {
  const isBundler = module === 'bundler';
  const files = isBundler ? [`${program}.mts`] : [`${program}.mts`, `${program}.cts`];
  const modules = ['--module', isBundler ? 'esnext' : module, '--moduleResolution', module];
  const target = ['--target', 'es2022', '--types', 'node', '--lib', 'es2023'];
  return [
    'npx',
    'tsc',
    '--strict',
    '--exactOptionalPropertyTypes',
    '--noEmit',
    ...modules,
    ...target,
    ...more,
    ...files,
  ];
}

/** What a command printed if it failed. */
function run(cwd, [command, ...args]) {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  // Set by an outer npm or npx; an inner one would take them as its own options.
  for (const name of Object.keys(env)) if (/^npm_(config_(package|call)|package_)/.test(name)) delete env[name];
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout: 300_000 });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}
