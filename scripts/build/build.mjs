// Builds every package into its dist/, and the examples: what has changed since its last build. All entry points of a
// package are built together, so that each module exists once per format; what a package depends on stays outside.
// Declarations are bundled likewise.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { PACKAGES, nameOf } from './packages.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const EXTENSIONS = { esm: { js: '.js', dts: '.d.ts' }, cjs: { js: '.cjs', dts: '.d.cts' } };

/** What is built beside the entry points of a package, by its name in dist/. */
const FURTHER = { server: { 'read-thread': 'config/read-thread.ts' }, cli: { main: 'main.ts', run: 'run.ts' } };
/**
 * The CommonJS form of this one is its default export, a function with the others as properties: `require` loads that
 * form everywhere, as it loads that of the package which it stands in for.
 */
const IS_CALLABLE = 'express-rate-limit.cjs';
const CALLABLE = 'module.exports = Object.assign(module.exports.default, module.exports);';

const common = (folder) => ({
  config: false,
  cwd: join(root, 'packages', folder),
  tsconfig: join(root, 'packages', folder, 'tsconfig.json'),
  platform: 'node',
  target: 'node20',
  clean: false,
  hash: false,
  logLevel: 'warn',
  outExtensions: ({ format }) => EXTENSIONS[format === 'cjs' ? 'cjs' : 'esm'],
  // The parts that differ by runtime are found by the package's own `imports`, when it runs.
  deps: { neverBundle: [/^#/], skipNodeModulesBundle: true },
});
const inSrc = (files) => Object.fromEntries(Object.entries(files).map(([path, file]) => [nameOf(path), `src/${file}`]));

/** What is built by the sources in these folders; `npm run setup` may bring other compilers. */
const ALWAYS = ['scripts/build', 'tsconfig.base.json', 'pnpm-lock.yaml'].map((path) => join(root, path));

for (const [folder, about] of Object.entries(PACKAGES)) {
  const path = join(root, 'packages', folder);
  await buildOnce(
    join(path, 'dist'),
    ['src', 'package.json', 'tsconfig.json'].map((name) => join(path, name)),
    () => buildPackage(folder, about),
  );
}

// What agents read in node_modules is the README, under a header that tells them when to read it.
for (const [folder, { manifest }] of Object.entries(PACKAGES)) {
  const path = join(root, 'packages', folder);
  const header = [
    `name: ${manifest.name.slice(1).replace('/', '-')}`,
    `description: ${JSON.stringify(manifest.description)}`,
  ];
  const readme = readFileSync(join(path, 'README.md'), 'utf8');
  writeFileSync(join(path, 'SKILL.md'), ['---', ...header, '---', '', readme].join('\n'));
}

async function buildPackage(folder, { formats, entries }) {
  const { build } = await import('tsdown');
  const entry = inSrc(entries);
  const further = Object.entries(FURTHER[folder] ?? {}).map(([name, file]) => [name, `src/${file}`]);
  await build({
    ...common(folder),
    entry: { ...entry, ...Object.fromEntries(further) },
    format: formats,
    clean: true,
    dts: false,
    inputOptions: { experimental: { attachDebugInfo: 'none' }, checks: { pluginTimings: false } },
    // Readers of the declarations have the docstrings; readers of the modules have the repository.
    outputOptions: {
      // Annotations are for bundlers: what is not used is left out.
      comments: { annotation: true, legal: false, jsdoc: false },
      exports: 'named',
      footer: ({ fileName }) => (fileName === IS_CALLABLE ? CALLABLE : ''),
      codeSplitting: {
        groups: [{ name: 'shared', test: /\/src\//, minShareCount: 2 }],
      },
    },
  });
  if (Object.keys(entry).length === 0) return;
  // The types of both formats are the same ones where no entry point has a default export, whose meaning differs.
  const sharesTypes = folder === 'core';
  for (const format of sharesTypes ? ['cjs'] : formats) {
    await build({
      ...common(folder),
      entry,
      format: ['esm'],
      outExtensions: () => EXTENSIONS[format],
      dts: { oxc: true, sourcemap: false, emitDtsOnly: true },
      inputOptions: { checks: { pluginTimings: false } },
    });
  }
  if (sharesTypes) {
    for (const name of Object.keys(entry))
      writeFileSync(join(root, 'packages', folder, `dist/${name}.d.ts`), `export * from './${name}.cjs';\n`);
  }
}

// Only tests and scripts use the testkit: each of its modules stays one, for those that import a single one.
const testkit = join(root, 'packages/testkit');
await buildOnce(
  join(testkit, 'dist'),
  ['src', 'package.json'].map((name) => join(testkit, name)),
  async () => {
    const { build } = await import('tsdown');
    await build({
      ...common('testkit'),
      entry: ['src/**/*.ts'],
      format: ['esm'],
      unbundle: true,
      clean: true,
      dts: { oxc: true, sourcemap: false },
    });
  },
);

// The examples compile against what has been built, as those of a user do.
const examples = readdirSync(join(root, 'examples'))
  .map((name) => join(root, 'examples', name))
  .filter((folder) => existsSync(join(folder, 'tsconfig.json')));
const sources = examples.flatMap((folder) => [join(folder, 'src'), join(folder, 'tsconfig.json')]);
const against = Object.keys(PACKAGES).map((name) => join(root, 'packages', name, 'dist'));
await buildOnce(join(examples[0], 'dist'), [...sources, ...against], async () => {
  const tsc = join(root, 'node_modules/@typescript/native/bin/tsc');
  const [code] = await once(spawn(process.execPath, [tsc, '-b', '--force', ...examples], { stdio: 'inherit' }), 'exit');
  process.exitCode = code ?? 1;
  return code === 0;
});

/** Builds into a folder unless it was built by these files as they are now. */
async function buildOnce(into, sources, make) {
  const stamp = join(root, 'node_modules/.cache/sluice/built', relative(root, into).replaceAll(sep, '-'));
  const hash = createHash('sha256');
  for (const path of [...ALWAYS, ...sources].flatMap(filesIn)) {
    const { mtimeMs, size } = statSync(path);
    hash.update(`${path} ${mtimeMs} ${size}\n`);
  }
  const now = hash.digest('hex');
  if (existsSync(into) && existsSync(stamp) && readFileSync(stamp, 'utf8') === now) return;
  if ((await make()) === false) return;
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, now);
}

/** The files of a folder, or the file. */
function filesIn(path) {
  if (!existsSync(path)) return [];
  if (!statSync(path).isDirectory()) return [path];
  return readdirSync(path).flatMap((name) => filesIn(join(path, name)));
}
