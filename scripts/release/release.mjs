// Publishes all packages at one version. Only the workflow .github/workflows/release.yml does so: it proves where the
// packages come from. Everywhere else:
//
//   npm run release -- --dry-run   builds, checks, packs, and prints what would be published
//   npm run release -- --notes     prints what CHANGELOG.md says about the version
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDRESSES, PACKAGES } from '../build/packages.mjs';
import { packAll } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
// In this order they are published: a package after those that it depends on.
const manifests = Object.keys(PACKAGES).map((folder) => JSON.parse(read(`packages/${folder}/package.json`)));
const names = manifests.map(({ name }) => name);
const [{ version }] = manifests;
/** Users get `latest` when they name no version. A prerelease, 1.0.0-next.0, has the name of its line. */
const tag = /-([a-z]+)/.exec(version)?.[1] ?? 'latest';

if (process.argv.includes('--notes')) {
  console.log(notes() ?? '');
  process.exit(0);
}
// Without `--` before it, npm takes the option for its own.
const isDryRun = process.argv.includes('--dry-run') || process.env['npm_config_dry_run'] === 'true';

stopOn([...versionProblems(), ...treeProblems(), ...(isDryRun ? [] : workflowProblems())]);

run('npm', ['run', '-s', 'build']);
run('npm', ['run', '-s', 'check', '--', 'all']);
stopOn(treeProblems());
const work = mkdtempSync(join(tmpdir(), 'sluice-release-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
const tarballs = pack();
stopOn(tarballs.flatMap(tarballProblems));
printTable(tarballs);
if (isDryRun) console.log('\nNothing was published.');
else tarballs.forEach(publish);

/** The text of this version's section in CHANGELOG.md, without its heading; `undefined` if it has none. */
function notes() {
  const sections = read('CHANGELOG.md').split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  return section?.slice(section.indexOf('\n')).trim();
}

function versionProblems() {
  const problems = [];
  if (manifests.some((manifest) => manifest.version !== version)) {
    const versions = manifests.map((manifest) => `${manifest.name} ${manifest.version}`).join(', ');
    problems.push(`The versions are out of step: ${versions}.`);
  }
  if (notes() === undefined) problems.push(`CHANGELOG.md has no section for ${version}.`);
  const tagged = git('rev-list', '-n', '1', `v${version}`);
  if (tagged !== '' && tagged !== git('rev-parse', 'HEAD')) {
    problems.push(
      `${version} is released: raise the version in package.json, and run \`node scripts/build/manifests.mjs\`.`,
    );
  }
  return problems;
}

function treeProblems() {
  const changed = git('status', '--porcelain');
  return changed === '' ? [] : [`The tree has changes that are not committed:\n${changed}`];
}

function workflowProblems() {
  const { env } = process;
  if (env['GITHUB_ACTIONS'] !== 'true')
    return ['Packages are published by the release workflow alone. Use `npm run release -- --dry-run` here.'];
  const problems = [];
  if ((env['ACTIONS_ID_TOKEN_REQUEST_URL'] ?? '') === '')
    problems.push('There would be no provenance: the job lacks the permission `id-token: write`.');
  if (env['GITHUB_REF'] !== `refs/tags/v${version}`)
    problems.push(`The workflow runs for ${env['GITHUB_REF']}, and the packages have version ${version}.`);
  const repository = `${env['GITHUB_SERVER_URL']}/${env['GITHUB_REPOSITORY']}`;
  if (repository !== ADDRESSES.repository)
    problems.push(`The workflow runs in ${repository}, and the manifests name ${ADDRESSES.repository}.`);
  return problems;
}

function pack() {
  packAll(work);
  const packed = readdirSync(work).map((file) => {
    const manifest = JSON.parse(output('tar', ['-xzOf', join(work, file), 'package/package.json']));
    return { name: manifest.name, file: join(work, file), manifest };
  });
  const contents = JSON.parse(output('npm', ['pack', ...packed.map(({ file }) => file), '--dry-run', '--json']));
  return names.map((name) => {
    const { entryCount, unpackedSize } = contents.find((content) => content.name === name);
    return { ...packed.find((one) => one.name === name), files: entryCount, bytes: unpackedSize };
  });
}

function tarballProblems({ name, manifest }) {
  const problems = [];
  if (manifest.publishConfig?.provenance !== true) problems.push(`${name} lacks "provenance" in its "publishConfig".`);
  const wanted = Object.entries({ ...manifest.dependencies, ...manifest.peerDependencies });
  for (const [dependency, range] of wanted) {
    if (names.includes(dependency) && range !== `^${version}`)
      problems.push(`${name} wants ${dependency} ${range} instead of ^${version}.`);
  }
  return problems;
}

function printTable(tarballs) {
  const rows = tarballs.map(({ name, files, bytes }) => [
    name,
    version,
    tag,
    String(files),
    `${(bytes / 1000).toFixed(0)} kB`,
    'yes',
  ]);
  const table = [['package', 'version', 'tag', 'files', 'unpacked', 'provenance'], ...rows];
  const widths = table[0].map((_, column) => Math.max(...table.map((row) => row[column].length)));
  console.log(
    `\n${table
      .map((row) =>
        row
          .map((cell, column) => cell.padEnd(widths[column]))
          .join('  ')
          .trimEnd(),
      )
      .join('\n')}`,
  );
}

/** A run that was cut off can be repeated: what is published already is left out. */
function publish({ name, file }) {
  const found = spawnSync('npm', ['view', `${name}@${version}`, 'version'], { encoding: 'utf8' });
  if (found.status === 0 && found.stdout.trim() === version) {
    console.log(`${name} ${version} is published already.`);
  } else {
    run('npm', ['publish', file, '--provenance', '--access', 'public', '--tag', tag]);
  }
}

function stopOn(problems) {
  if (problems.length === 0) return;
  console.error(problems.join('\n'));
  process.exit(1);
}

function git(...args) {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error !== undefined) throw error;
  if (status !== 0) stopOn([`\`${command} ${args.join(' ')}\` ended with ${status}.`]);
}

function output(command, args) {
  const { status, stdout, error } = spawnSync(command, args, { cwd: root, encoding: 'utf8' });
  if (status === 0) return stdout;
  throw error ?? new Error(`${command} ${args.join(' ')} ended with ${status}`);
}
