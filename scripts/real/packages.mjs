// Installs the packages, as they would be published, into empty folders, and uses them as a new user does: runs the programs
// of the documents with each framework on each Node.js and by each package manager, and compiles with each TypeScript.
//
//   npm run real -- packages             all rows
//   npm run real -- packages nest yarn   the rows whose names hold one of these words
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../packages/testkit/dist/free-port.js';
import { PACKAGES } from '../build/packages.mjs';
import { examplesIn, runExample, writeExample } from '../check/examples.mjs';
import { packAll } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const work = mkdtempSync(join(tmpdir(), 'sluice-matrix-'));
const tarballs = Object.fromEntries(
  Object.values(PACKAGES).map(({ manifest: { name, version } }) => [
    name,
    `file:${join(work, `${name.slice(1).replace('/', '-')}-${version}.tgz`)}`,
  ]),
);

const NODES = ['20.19', '22', '24', '26'].map((version) => `npx --yes -p node@${version} node`);
const nest = (major) => ({
  ...{ '@nestjs/common': major, '@nestjs/core': major, '@nestjs/platform-express': major },
  ...{ 'reflect-metadata': '0.2', rxjs: '7', typescript: '5.9', '@types/node': '20' },
});
const WITH_EXPRESS = { express: '5', 'prom-client': '15' };
const NEXT = {
  ...{ next: '16', react: '19', 'react-dom': '19', ioredis: '6' },
  ...{ typescript: '5.9', '@types/node': '20', '@types/react': '19' },
};

const TSCONFIG = {
  compilerOptions: {
    ...{ target: 'es2022', module: 'nodenext', types: ['node'], strict: true, skipLibCheck: true },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true, rootDir: '.', outDir: 'out' },
  },
  include: ['packages'],
};

/**
 * Rows: what is installed beside core and the adapters, and commands, which install if npm does not (`installs`). Then the
 * programs of `documents` run by each of the commands in `by`: those in JavaScript, or compiled from TypeScript (`source`).
 */
const ROWS = {};
for (const [name, adapter, framework, source] of [
  ['Express 4', 'express', { express: '4' }],
  ['Express 5', 'express', { express: '5' }],
  ['Fastify 5', 'fastify', { fastify: '5' }],
  ['Koa 2', 'koa', { koa: '2', '@koa/router': '15' }],
  ['Koa 3', 'koa', { koa: '3', '@koa/router': '15' }],
  ['Hono 4', 'web', { hono: '4', '@hono/node-server': '2' }],
  // Before 12, applications of NestJS are CommonJS.
  ['NestJS 10', 'nestjs', nest('10'), 'cts'],
  ['NestJS 11', 'nestjs', nest('11'), 'cts'],
  ['NestJS 12', 'nestjs', nest('12'), 'ts'],
]) {
  const documents = [`packages/${adapter}/README.md`];
  const commands = source === undefined ? [] : ['npx tsc -p .'];
  ROWS[name] = { adapters: [adapter], dependencies: framework, commands, documents, source, by: NODES };
}

const guides = readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`);
const EVERYTHING = {
  adapters: ['express', 'fastify', 'koa', 'web', 'compat', 'page', 'server'],
  dependencies: {
    ...{ ...WITH_EXPRESS, fastify: '5', koa: '3', '@koa/router': '15', hono: '4', '@hono/node-server': '2' },
    ...{ graphql: '16', ioredis: '6' },
  },
  documents: [
    'README.md',
    ...guides,
    ...['express', 'fastify', 'koa', 'web'].map((name) => `packages/${name}/README.md`),
  ],
  installs: false,
};
const YARN = 'npx --yes -p @yarnpkg/cli-dist@4 yarn';
const BUN = 'npx --yes -p bun@1.4.5 bun';
for (const version of ['5.4', '5.9', '6', '7']) {
  ROWS[`TypeScript ${version}`] = {
    adapters: ['express', 'web'],
    dependencies: { typescript: version, '@types/node': '20', '@types/express': '5', hono: '4', ...WITH_EXPRESS },
    commands: ['nodenext', 'node16', 'bundler'].flatMap((module) => [
      compiler(module, 'program'),
      // Hono's own declarations need TypeScript 5.7.
      compiler(module, 'handlers', version === '5.4' ? '--skipLibCheck' : ''),
    ]),
  };
}
Object.assign(ROWS, {
  'One copy': {
    adapters: ['express'],
    dependencies: WITH_EXPRESS,
    commands: NODES.map((node) => `${node} one-copy.mjs`),
  },
  npm: { ...EVERYTHING, installs: true, commands: [], by: ['node'] },
  'Yarn PnP': {
    ...{ ...EVERYTHING, prepare: useYarn, by: [`${YARN} node`] },
    // Its loader of ES modules finds another copy than its `require`.
    commands: [`${YARN} install`, `${YARN} node -p require("@sluice/express").rateLimit.name`],
  },
  pnpm: {
    ...{ ...EVERYTHING, prepare: usePnpm, by: ['node'] },
    commands: ['npx --yes pnpm@12 install --prefer-offline', 'node one-copy.mjs'],
  },
  Bun: { ...EVERYTHING, commands: [`${BUN} install`], by: [BUN] },
  Vitest: {
    ...{ adapters: ['express'], dependencies: { ...WITH_EXPRESS, vitest: '3' } },
    commands: ['npx vitest run express.vitest.test.mjs'],
  },
  Jest: {
    ...{ adapters: ['express'], dependencies: { ...WITH_EXPRESS, jest: '30' } },
    commands: ['npx jest express.jest.test.cjs'],
  },
  esbuild: {
    ...{ adapters: ['express'], dependencies: { ...WITH_EXPRESS, esbuild: '0.28.2' } },
    ...{ commands: [], documents: ['README.md'], by: ['node bundle.mjs esm', 'node bundle.mjs cjs'] },
  },
  'Next.js 16': {
    ...{ adapters: ['web'], dependencies: NEXT, prepare: useNextExample },
    commands: ['npx next build', 'node next.mjs'],
  },
  'SQLite store': {
    ...{ adapters: [], dependencies: { 'better-sqlite3': '13.2.0' } },
    // Not on Node 20, which has no SQLite.
    commands: NODES.slice(1).map((node) => `${node} --test sqlite-store.test.mjs`),
  },
});

const words = process.argv.slice(2).map((word) => word.toLowerCase());
const wanted = Object.entries(ROWS).filter(
  ([name]) => words.length === 0 || words.some((word) => name.toLowerCase().includes(word)),
);
const port = await freePort();
let failed = wanted.length === 0 ? 1 : 0;
try {
  packAll(work);
  for (const [name, row] of wanted) {
    const report = (what, error) => {
      if (error !== '') failed++;
      console.log(`${name}: ${what}: ${error === '' ? 'ok' : `FAILED\n${error}`}`);
    };
    const { source = 'js', documents = [], by = [] } = row;
    const examples = documents
      .flatMap((file) => examplesIn(file, port))
      .filter(({ verb, path }) => verb !== 'check' && path.endsWith('.js') === (source === 'js'))
      .map((example) => ({ ...example, path: example.path.replace(/[jt]s$/, source) }));
    const folder = prepared(name, row, examples);
    const install = 'npm install --no-audit --no-fund --prefer-offline';
    for (const command of row.installs === false ? row.commands : [install, ...row.commands])
      report(command, run(folder, command));
    for (const command of by) {
      for (const example of examples) {
        const program = source === 'js' ? example.path : `out/${example.path.replace('ts', 'js')}`;
        report(`${command} ${program}`, (await runExample(folder, example, program, command.split(' '))).join('\n'));
      }
    }
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);

/** A folder with the programs and a manifest, and nothing installed. */
function prepared(name, { adapters, dependencies, prepare, source }, examples) {
  const folder = join(work, name.replaceAll(' ', '-').toLowerCase());
  cpSync(join(root, 'scripts/real/packages'), folder, { recursive: true });
  const ours = ['core', ...adapters].map((each) => [`@sluice/${each}`, tarballs[`@sluice/${each}`]]);
  const manifest = {
    ...{ name: 'a-new-user', private: true, ...(examples.length > 0 && { type: 'module' }) },
    dependencies: { ...Object.fromEntries(ours), ...dependencies },
    // No registry has what the packages need of each other.
    ...{ overrides: tarballs, resolutions: tarballs },
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  if (source !== undefined) writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(TSCONFIG));
  for (const example of examples) writeExample(folder, example, example.path);
  prepare?.(folder);
  return folder;
}

/** The files of the example, as an application of Next.js has them. */
function useNextExample(folder) {
  cpSync(join(root, 'examples/nextjs/src'), join(folder, 'src'), { recursive: true });
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
function compiler(module, program, more = '') {
  const [modules, files] =
    module === 'bundler' ? ['esnext', `${program}.mts`] : [module, `${program}.mts ${program}.cts`];
  const checked = '--strict --exactOptionalPropertyTypes --noEmit --target es2022 --types node --lib es2023';
  return `npx tsc ${checked} --module ${modules} --moduleResolution ${module} ${more} ${files}`;
}

/** What a command printed if it failed, or nothing. */
function run(cwd, line) {
  const [command, ...args] = line.split(/ +/);
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  // Set by an outer npm or npx; an inner one would take them as its own options.
  for (const name of Object.keys(env)) if (/^npm_(config_(package|call)|package_)/.test(name)) delete env[name];
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8', timeout: 300_000 });
  return status === 0 ? '' : `${stdout}${stderr}` || 'failed';
}
