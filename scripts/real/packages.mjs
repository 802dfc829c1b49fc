// Installs the packages, as they would be published, into empty folders, and uses them as a new user does: with each
// framework on each Node.js, compiled by each TypeScript, installed by each package manager, under other runtimes, test
// runners and bundlers. Prints one table. Everything else than the packages comes from the npm registry.
//
//   npm run real -- packages             all rows
//   npm run real -- packages nest yarn   the rows whose names hold one of these words
import { spawn, spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../build/packages.mjs';
import { packAll } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const programs = join(root, 'scripts/real/packages');
const work = mkdtempSync(join(tmpdir(), 'sluice-matrix-'));
const NODES = ['20.19', '22', '24', '26'];
const wanted = process.argv.slice(2);
const results = [];

/** The packages that each framework's row installs beside Sluice. */
const FRAMEWORKS = {
  'Express 4': ['express', { express: '4' }],
  'Express 5': ['express', { express: '5' }],
  'Fastify 5': ['fastify', { fastify: '5' }],
  'Koa 2': ['koa', { koa: '2' }],
  'Koa 3': ['koa', { koa: '3' }],
  'Hono 4': ['web', { hono: '4', '@hono/node-server': '2' }],
  'NestJS 10': ['nestjs', nest('10')],
  'NestJS 11': ['nestjs', nest('11')],
  'NestJS 12': ['nestjs', nest('12')],
};
/**
 * The output of each example when it has started. Undefined: it needs servers, and is built alone; its own tests start
 * it.
 */
const EXAMPLES = {
  'consul-policies': undefined,
  express: /^Listening on/m,
  fastify: /^Listening on/m,
  gateway: undefined,
  koa: /^Listening on/m,
  'live-traffic': /allowed/,
  'llm-tokens': /^Listening on/m,
  graphql: /^Listening on/m,
  mcp: /^Listening on/m,
  nestjs: /^Listening on/m,
  hono: /^Listening on/m,
  nextjs: /^Listening on/m,
};
const PROMETHEUS = { 'prom-client': '15' };
/** The files of an application of Next.js with TypeScript. */
const NEXT = {
  ...{ react: '19', 'react-dom': '19', ioredis: '6' },
  ...{ typescript: '5.9', '@types/node': '20', '@types/react': '19' },
};
const NO_TELEMETRY = 'NEXT_TELEMETRY_DISABLED=1';

try {
  const tarballs = pack();
  for (const [row, [adapter, framework]] of Object.entries(FRAMEWORKS)) {
    if (!isWanted(row)) continue;
    const folder = await installed(row, tarballs, [adapter], { ...framework, ...PROMETHEUS });
    for (const node of NODES) {
      await check(row, `Node ${node}, import`, () => run(folder, ...onNode(node, `framework.mjs ${adapter}`)));
      await check(row, `Node ${node}, require`, () => run(folder, ...onNode(node, `framework.cjs ${adapter}`)));
    }
  }
  if (isWanted('One copy')) {
    const folder = await installed('One copy', tarballs, ['express'], { express: '5', ...PROMETHEUS });
    for (const node of NODES)
      await check('One copy', `Node ${node}`, () => run(folder, ...onNode(node, 'one-copy.mjs')));
  }
  for (const version of ['5.4', '5.9', '6', '7']) {
    const row = `TypeScript ${version}`;
    if (!isWanted(row)) continue;
    const types = { typescript: version, '@types/node': '20', '@types/express': '5', express: '5', hono: '4' };
    const folder = await installed(row, tarballs, ['express', 'web'], {
      ...types,
      ...PROMETHEUS,
    });
    for (const module of ['nodenext', 'node16', 'bundler']) {
      await check(row, module, () => compile(folder, module, 'program'));
      // Hono's own declarations need TypeScript 5.7.
      const skips = version === '5.4';
      await check(row, `${module}, fetch handlers`, () => compile(folder, module, 'handlers', skips));
    }
  }
  const manage = { pnpm: withPnpm, 'Yarn PnP': withYarn };
  for (const [row, install] of Object.entries(manage)) {
    if (!isWanted(row)) continue;
    const folder = emptyFolder(row, tarballs, ['express'], { express: '5', ...PROMETHEUS });
    await check(row, 'express', () => install(folder));
  }
  for (const [row, dependencies, command] of [
    ['Jest', { jest: '30' }, ['npx', 'jest', '--testMatch', '**/express.jest.test.cjs']],
    ['Vitest', { vitest: '3' }, ['npx', 'vitest', 'run', 'express.vitest.test.mjs']],
    ['esbuild', { esbuild: '0.28.2' }, ['node', 'bundle.mjs']],
    ['Bun', { bun: '1' }, ['npx', 'bun', 'fetch.mjs']],
    ['Deno', { deno: '2' }, ['npx', 'deno', 'run', '--allow-all', '--node-modules-dir=manual', 'fetch.mjs']],
  ]) {
    if (!isWanted(row)) continue;
    const adapters = ['express'];
    const folder = await installed(row, tarballs, adapters, { express: '5', ...PROMETHEUS, ...dependencies });
    await check(row, 'express', () => run(folder, ...command));
  }
  for (const version of ['15', '16']) {
    const row = `Next.js ${version}`;
    if (!isWanted(row)) continue;
    const folder = await installed(row, tarballs, ['web'], { ...NEXT, next: version });
    useNextExample(folder, version);
    await check(row, 'next build', () => run(folder, 'env', NO_TELEMETRY, 'npx', 'next', 'build'));
    await check(row, 'route handler and proxy', () => run(folder, 'env', NO_TELEMETRY, 'node', 'next.mjs'));
  }
  if (isWanted('SQLite store')) {
    const folder = await installed('SQLite store', tarballs, [], { 'better-sqlite3': '13.2.0' });
    for (const node of NODES.slice(1)) {
      await check('SQLite store', `Node ${node}`, () => run(folder, ...onNode(node, '--test sqlite-store.test.mjs')));
    }
  }
  for (const [name, expected] of Object.entries(EXAMPLES)) {
    const row = `Example ${name}`;
    if (isWanted(row))
      await check(row, expected === undefined ? 'npm run build' : 'npm start', () =>
        useExample(name, expected, tarballs),
      );
  }
} finally {
  rmSync(work, { recursive: true, force: true });
}
console.log(`\n${'What'.padEnd(16)} Result`);
for (const row of new Set(results.map((result) => result.row))) {
  const cells = results.filter((result) => result.row === row);
  const failed = cells.filter(({ error }) => error !== undefined);
  console.log(`${row.padEnd(16)} ${cells.length - failed.length} of ${cells.length}: ${cells.map(shown).join(', ')}`);
}
const failures = results.filter(({ error }) => error !== undefined);
for (const { row, cell, error } of failures) console.error(`\n=== ${row}, ${cell}\n${error}`);
process.exit(failures.length === 0 && results.length > 0 ? 0 : 1);

function isWanted(row) {
  return wanted.length === 0 || wanted.some((word) => row.toLowerCase().includes(word.toLowerCase()));
}

function shown({ cell, error }) {
  return error === undefined ? cell : `${cell} FAILED`;
}

function nest(major) {
  return {
    '@nestjs/common': major,
    '@nestjs/core': major,
    '@nestjs/platform-express': major,
    'reflect-metadata': '0.2',
    rxjs: '7',
  };
}

/** Packs every package: by name, the file. */
function pack() {
  const into = join(work, 'tarballs');
  mkdirSync(into);
  const folders = Object.keys(PACKAGES);
  packAll(into, folders);
  const files = readdirSync(into);
  const packed = (name) => files.find((file) => new RegExp(`^sluice-${name}-\\d`).test(file));
  return Object.fromEntries(folders.map((name) => [name, join(into, packed(name))]));
}

/** A folder with the programs and a manifest, and nothing installed. */
function emptyFolder(row, tarballs, adapters, dependencies) {
  const folder = join(work, row.replaceAll(' ', '-').toLowerCase());
  cpSync(programs, folder, { recursive: true });
  const packed = Object.fromEntries(
    Object.entries(tarballs).map(([name, file]) => [`@sluice/${name}`, `file:${file}`]),
  );
  const ours = Object.fromEntries(['core', ...adapters].map((name) => [`@sluice/${name}`, packed[`@sluice/${name}`]]));
  const manifest = {
    name: 'a-new-user',
    private: true,
    dependencies: { ...ours, ...dependencies },
    // No registry has what the packages need of each other.
    overrides: packed,
    resolutions: packed,
  };
  writeFileSync(join(folder, 'package.json'), JSON.stringify(manifest, null, 2));
  return folder;
}

async function installed(row, tarballs, adapters, dependencies) {
  const folder = emptyFolder(row, tarballs, adapters, dependencies);
  await check(row, 'npm install', () => run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline'));
  return folder;
}

/** A copy of an example, with the packed packages where it names published ones. */
async function useExample(name, expected, tarballs) {
  const folder = join(work, `example-${name}`);
  const own = join(root, 'examples', name);
  for (const file of ['src', 'tsconfig.json']) cpSync(join(own, file), join(folder, file), { recursive: true });
  const manifest = JSON.parse(readFileSync(join(own, 'package.json'), 'utf8'));
  const packed = (dependencies) =>
    Object.fromEntries(
      Object.entries(dependencies).map(([dependency, version]) => {
        const [, ours] = /^@sluice\/(.*)/.exec(dependency) ?? [];
        return [dependency, ours === undefined ? version : `file:${tarballs[ours]}`];
      }),
    );
  const dependencies = { ...packed(manifest.dependencies), '@sluice/core': `file:${tarballs.core}` };
  const devDependencies = packed(manifest.devDependencies);
  const overrides = packed(Object.fromEntries(Object.keys(tarballs).map((each) => [`@sluice/${each}`, ''])));
  writeFileSync(
    join(folder, 'package.json'),
    JSON.stringify({ ...manifest, dependencies, devDependencies, overrides }),
  );
  run(folder, 'npm', 'install', '--no-audit', '--no-fund', '--prefer-offline');
  if (expected === undefined) run(folder, 'npm', 'run', 'build');
  else await runUntil(folder, expected);
}

/** The files of the example, as an application of Next.js has them. */
function useNextExample(folder, version) {
  cpSync(join(root, 'examples/nextjs/src'), join(folder, 'src'), { recursive: true });
  rmSync(join(folder, 'src/main.ts'));
  const compilerOptions = { allowImportingTsExtensions: true, noEmit: true, strict: true };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['src'] }));
  if (version !== '15') return;
  const proxy = join(folder, 'src/proxy.ts');
  const text = readFileSync(proxy, 'utf8')
    .replace('function proxy', 'function middleware')
    .replace('matcher:', "runtime: 'nodejs', matcher:");
  writeFileSync(join(folder, 'src/middleware.ts'), text);
  rmSync(proxy);
}

/** Runs `npm start` until it has printed what is expected. */
async function runUntil(folder, expected) {
  const child = spawn('npm', ['start'], { cwd: folder, env: { ...process.env, PORT: '0' }, detached: true });
  let printed = '';
  const done = new Promise((resolve) => {
    const read = (text) => {
      printed += text;
      if (expected.test(printed)) resolve(true);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.once('exit', () => resolve(expected.test(printed)));
    setTimeout(resolve, 60_000, false).unref();
  });
  const hasStarted = await done;
  try {
    process.kill(-child.pid, 'SIGTERM'); // npm, and what it has started
  } catch (error) {
    if (error.code !== 'ESRCH') throw error;
  }
  if (!hasStarted) throw new Error(`npm start printed\n${printed}`);
}

function withPnpm(folder) {
  const { overrides } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const lines = Object.entries(overrides).map(([name, file]) => `  '${name}': ${file}\n`);
  writeFileSync(
    join(folder, 'pnpm-workspace.yaml'),
    `packages: []\nminimumReleaseAge: 0\noverrides:\n${lines.join('')}`,
  );
  run(folder, 'npx', '--yes', 'pnpm@12.21.0', 'install', '--prefer-offline', '--reporter=silent');
  run(folder, 'node', 'framework.mjs', 'express');
  run(folder, 'node', 'framework.cjs', 'express');
}

function withYarn(folder) {
  const registry = run(folder, 'npm', 'config', 'get', 'registry').trim();
  writeFileSync(
    join(folder, '.yarnrc.yml'),
    [
      'nodeLinker: pnp',
      'enableTelemetry: false',
      'enableImmutableInstalls: false',
      'npmMinimalAgeGate: 0',
      `npmRegistryServer: ${JSON.stringify(registry)}`,
      `unsafeHttpWhitelist: [${JSON.stringify(new URL(registry).hostname)}]`,
      'pnpEnableEsmLoader: true',
    ].join('\n'),
  );
  const yarn = ['npx', '--yes', '-p', '@yarnpkg/cli-dist@4', 'yarn'];
  run(folder, ...yarn, 'install');
  run(folder, ...yarn, 'node', 'framework.mjs', 'express');
  run(folder, ...yarn, 'node', 'framework.cjs', 'express');
}

/** Compiles a program that uses what users name most: strict, and with the declarations of libraries checked too. */
function compile(folder, module, program, skipsLibraries = false) {
  const bundler = module === 'bundler';
  const files = bundler ? [`${program}.mts`] : [`${program}.mts`, `${program}.cts`];
  const modules = ['--module', bundler ? 'esnext' : module, '--moduleResolution', module];
  const strict = ['--strict', '--exactOptionalPropertyTypes', '--skipLibCheck', String(skipsLibraries), '--noEmit'];
  run(
    folder,
    'npx',
    'tsc',
    ...modules,
    ...strict,
    '--target',
    'es2022',
    '--types',
    'node',
    '--lib',
    'es2023',
    ...files,
  );
}

function onNode(version, program) {
  return ['npx', '--yes', '-p', `node@${version}`, '-c', `node --version && node ${program}`];
}

async function check(row, cell, work) {
  try {
    await work();
    results.push({ row, cell });
  } catch (error) {
    results.push({ row, cell, error: error.message });
  }
  const { error } = results.at(-1);
  console.log(`${row}, ${cell}: ${error === undefined ? 'ok' : 'FAILED'}`);
}

function run(folder, command, ...args) {
  const env = { ...process.env };
  // Set by an outer npm or npx; an inner one would take them as its own options.
  for (const name of Object.keys(env)) if (/^npm_(config_(package|call)|package_)/.test(name)) delete env[name];
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: folder,
    env,
    encoding: 'utf8',
    timeout: 300_000,
  });
  if (status === 0) return stdout;
  throw error ?? new Error(`${[command, ...args].join(' ')}\n${stdout}${stderr}`);
}
