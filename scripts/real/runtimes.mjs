// Tests what runs on other runtimes than Node.js: core in memory and over Redis, the contract of stores, and the
// contract of adapters against targets on each of them. The runtimes are binaries in npm packages, which are installed
// once.
//
//   npm run real -- runtimes            all of it
//   npm run real -- runtimes express    the files whose path holds this
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The supported versions, which are tested. */
const VERSIONS = { Bun: '1.4.5', Deno: '2.9.6' };
const PACKAGES = {
  'linux-x64': { Bun: ['@oven/bun-linux-x64', 'bin/bun'], Deno: ['@deno/linux-x64-glibc', 'deno'] },
  'linux-arm64': { Bun: ['@oven/bun-linux-aarch64', 'bin/bun'], Deno: ['@deno/linux-arm64-glibc', 'deno'] },
  'darwin-arm64': { Bun: ['@oven/bun-darwin-aarch64', 'bin/bun'], Deno: ['@deno/darwin-arm64', 'deno'] },
};
/** How each runs a program that is part of this workspace. */
const ARGUMENTS = { Bun: [], Deno: ['run', '--allow-all', '--no-lock', '--node-modules-dir=manual', '--quiet'] };

const root = fileURLToPath(new URL('../..', import.meta.url));
const folder = join(root, 'node_modules/.cache/sluice/runtimes');
const packages = PACKAGES[`${process.platform}-${process.arch}`];
if (packages === undefined) fail(`There are no runtimes for ${process.platform}-${process.arch} here.`);

const commands = Object.entries(packages).map(([name, [folderOf, binary]]) => {
  const path = join(folder, 'node_modules', folderOf, binary);
  return [name, [path, ...ARGUMENTS[name]]];
});
install();
for (const [name, [path]] of commands) {
  const { stdout } = spawnSync(path, ['--version'], { encoding: 'utf8' });
  if (!stdout?.includes(VERSIONS[name])) fail(`${name} ${VERSIONS[name]} does not run here.`);
  console.log(`${name} ${VERSIONS[name]}`);
}

const { status } = spawnSync(
  process.execPath,
  ['scripts/test/test.mjs', `${process.argv[2] ?? ''}.*/test/runtimes/`, '--maxWorkers', '1'],
  {
    cwd: root,
    stdio: 'inherit',
    env: { ...process.env, SLUICE_BUILT: '1', SLUICE_RUNTIMES: JSON.stringify(Object.fromEntries(commands)) },
  },
);
process.exit(status ?? 1);

/** The package manager of npm leaves what is there already. */
function install() {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n');
  const wanted = Object.entries(packages).map(([name, [folderOf]]) => `${folderOf}@${VERSIONS[name]}`);
  const flags = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline', '--loglevel=error'];
  const { status } = spawnSync('npm', ['install', ...flags, ...wanted], { cwd: folder, stdio: 'inherit' });
  if (status !== 0) fail('Installing the runtimes failed. It needs the npm registry.');
}

function fail(why) {
  console.error(why);
  process.exit(1);
}
