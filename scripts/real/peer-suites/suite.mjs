// A suite of another package, at a named commit: fetched into a folder of its own, run, and compared with the list of
// cases that are known to differ. A new failure is red, and so is a case of the list that passes.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = fileURLToPath(new URL('../../..', import.meta.url));

/** The least share of cases that pass. */
const LEAST_PASSED = 0.98;

const allowed = JSON.parse(readFileSync(new URL('allowed.json', import.meta.url), 'utf8'));

export function run(command, args, cwd, env = {}) {
  const { status, error } = spawnSync(command, args, { cwd, stdio: 'inherit', env: { ...process.env, ...env } });
  if (error !== undefined) throw error;
  return status;
}

/**
 * The files of a commit, in a folder of their own.
 *
 * @param from - Where git finds it: a URL or a folder. Default: its home.
 */
export function checkedOut(name, from = allowed[name].from) {
  // Not below node_modules, where Jest finds nothing.
  const above = mkdtempSync(join(tmpdir(), `sluice-${name.replace(/\W/g, '-')}-`));
  process.on('exit', () => rmSync(above, { recursive: true, force: true }));
  const folder = join(above, 'suite');
  mkdirSync(folder);
  for (const args of [
    ['init', '--quiet'],
    ['fetch', '--quiet', '--depth', '1', from, allowed[name].commit],
    ['checkout', '--quiet', 'FETCH_HEAD'],
  ]) {
    if (run('git', args, folder) !== 0) throw new Error(`git ${args.join(' ')} failed`);
  }
  return folder;
}

/** Installs packages above a suite, and none of those that its own manifest names. */
export function installed(folder, packages) {
  const above = join(folder, '..');
  writeFileSync(join(above, 'package.json'), '{ "private": true }');
  const args = ['install', '--no-audit', '--no-fund', '--ignore-scripts', '--legacy-peer-deps'];
  if (run('npm', [...args, ...packages], above) !== 0) throw new Error('npm install failed');
}

/** Links packages of this workspace above a suite, as they are built. */
export function linked(folder, names) {
  const scope = join(folder, '../node_modules/@sluice');
  mkdirSync(scope, { recursive: true });
  for (const name of names) symlinkSync(join(root, 'packages', name), join(scope, name));
}

/** Copies files of this folder over those of a suite. */
export function replaced(folder, files) {
  for (const [file, target] of Object.entries(files)) {
    if (!existsSync(join(folder, target))) throw new Error(`the suite has no ${target} to replace`);
    cpSync(fileURLToPath(new URL(file, import.meta.url)), join(folder, target));
  }
}

/**
 * Compares the cases with the list. Those under `machine` depend on the machine, and not on us: they are left out.
 *
 * @param cases - By name, whether each passed.
 * @returns Whether all is as the list says.
 */
export function asAllowed(name, cases) {
  const { cases: known, machine = {} } = allowed[name];
  for (const title of Object.keys(machine)) {
    if (!cases.delete(title)) console.error(`in the list, and there is no such case: ${title}`);
  }
  const failed = [...cases].filter(([, passed]) => !passed).map(([title]) => title);
  const unexpected = failed.filter((title) => !(title in known));
  const passing = Object.keys(known).filter((title) => cases.get(title) !== false);
  for (const title of unexpected) console.error(`failed, and is not in the list: ${title}`);
  for (const title of passing) console.error(`in the list, and did not fail: ${title}`);
  const passed = cases.size - failed.length;
  console.log(`${name}: ${passed} of ${cases.size} cases pass; ${failed.length} differ`);
  for (const title of failed) if (title in known) console.log(`  ${title}: ${known[title]}`);
  return unexpected.length === 0 && passing.length === 0 && passed >= LEAST_PASSED * cases.size;
}

/**
 * Runs Jest, and returns its cases.
 *
 * @param jest - Default: that of this workspace.
 */
export function casesOfJest(folder, config, env, jest = join(root, 'node_modules/jest/bin/jest.js')) {
  const results = join(folder, 'results.json');
  const args = [
    '--experimental-vm-modules',
    '--no-warnings',
    jest,
    '--config',
    config,
    '--silent',
    '--forceExit',
    '--json',
  ];
  run('node', [...args, '--outputFile', results], folder, env);
  const cases = new Map();
  for (const { assertionResults, message, name } of JSON.parse(readFileSync(results, 'utf8')).testResults) {
    if (assertionResults.length === 0) throw new Error(`${name} did not run: ${message}`);
    for (const { ancestorTitles, title, status } of assertionResults) {
      if (status === 'pending' || status === 'todo') continue;
      const full = numbered(cases, [...ancestorTitles, title].join(' > '));
      cases.set(full, status === 'passed');
    }
  }
  return cases;
}

/** A case of several that have one title is told by its number. */
export function numbered(cases, title) {
  if (!cases.has(title)) return title;
  let n = 2;
  while (cases.has(`${title} (${n})`)) n++;
  return `${title} (${n})`;
}
