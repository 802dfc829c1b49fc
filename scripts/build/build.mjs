// Builds every package into its dist/, and the examples. All entry points of a package are built together, so that each
// module exists once per format; what a package depends on stays outside. Declarations are bundled likewise.
//
//   node scripts/build/build.mjs [FOLDER]    the packages of another workspace than this one
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'tsdown';
import { PACKAGES, nameOf } from './packages.mjs';

const own = fileURLToPath(new URL('../..', import.meta.url));
const root = resolve(process.argv[2] ?? own);
const EXTENSIONS = { esm: { js: '.js', dts: '.d.ts' }, cjs: { js: '.cjs', dts: '.d.cts' } };

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
const inSrc = (files) => Object.fromEntries(Object.entries(files).map(([name, file]) => [name, `src/${file}`]));

const named = (paths) => inSrc(Object.fromEntries(Object.entries(paths).map(([path, file]) => [nameOf(path), file])));

for (const [folder, { formats, entries, internal = {}, callable = [], more = {} }] of Object.entries(PACKAGES)) {
  if (!existsSync(join(root, 'packages', folder))) continue;
  const entry = named(entries);
  await build({
    ...common(folder),
    entry: { ...entry, ...named(internal), ...inSrc(more) },
    format: formats,
    clean: true,
    dts: false,
    inputOptions: { experimental: { attachDebugInfo: 'none' } },
    // Readers of the declarations have the docstrings; readers of the modules have the repository.
    outputOptions: {
      // Annotations are for bundlers: what is not used is left out.
      comments: { annotation: true, legal: false, jsdoc: false },
      exports: 'named',
      footer: ({ name, fileName }) =>
        fileName.endsWith('.cjs') && callable.some((path) => nameOf(path) === name) ? CALLABLE : '',
      codeSplitting: {
        groups: [{ name: 'shared', test: /\/src\//, minShareCount: 2 }],
      },
    },
  });
  if (Object.keys(entry).length === 0) continue;
  // The types of both formats are the same ones where no entry point has a default export, whose meaning differs.
  const sharesTypes = folder === 'core';
  for (const format of sharesTypes ? ['cjs'] : formats) {
    await build({
      ...common(folder),
      entry,
      format: ['esm'],
      outExtensions: () => EXTENSIONS[format],
      dts: { oxc: true, sourcemap: false, emitDtsOnly: true },
    });
  }
  if (sharesTypes) {
    for (const name of Object.keys(entry))
      writeFileSync(join(root, 'packages', folder, `dist/${name}.d.ts`), `export * from './${name}.cjs';\n`);
  }
}

// Only tests and scripts use the testkit: each of its modules stays one, for those that import a single one.
if (existsSync(join(root, 'packages/testkit'))) {
  await build({
    ...common('testkit'),
    entry: ['src/**/*.ts'],
    format: ['esm'],
    unbundle: true,
    clean: true,
    dts: { oxc: true, sourcemap: false },
  });
}

if (root === resolve(own)) {
  // The examples compile against what has been built, as those of a user do.
  const examples = readdirSync(join(own, 'examples')).filter((name) =>
    existsSync(join(own, 'examples', name, 'tsconfig.json')),
  );
  const codes = await Promise.all(examples.map((name) => compile(join(own, 'examples', name))));
  process.exitCode = Math.max(...codes);
}

async function compile(folder) {
  const tsc = join(own, 'node_modules/@typescript/native/bin/tsc');
  const [code] = await once(spawn(process.execPath, [tsc, '-p', folder], { stdio: 'inherit' }), 'exit');
  return code ?? 1;
}
