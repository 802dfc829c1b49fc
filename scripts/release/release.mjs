// Publishes all packages at one version. Only the workflow .github/workflows/release.yml does so: it proves where the
// packages come from. Everywhere else:
//
//   npm run release -- --dry-run       builds, checks, packs, and prints what would be published
//   npm run release -- --notes         prints what CHANGELOG.md says about the version
//   npm run release -- --raise 1.2.3   writes this version into every manifest, and where one is named
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../build/packages.mjs';
import { pnpm } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path) => readFileSync(join(root, path), 'utf8');
const { version } = JSON.parse(read('package.json'));
/** Users get `latest` when they name no version. A prerelease, 1.0.0-next.0, has the name of its line. */
const tag = /-([a-z]+)/.exec(version)?.[1] ?? 'latest';
const { values } = parseArgs({
  options: { 'dry-run': { type: 'boolean' }, notes: { type: 'boolean' }, raise: { type: 'string' } },
});

if (values.notes) console.log(notes() ?? '');
else if (values.raise) raise(values.raise);
// Without `--` before it, npm takes the option for its own.
else release(values['dry-run'] === true || process.env['npm_config_dry_run'] === 'true');

function release(isDryRun) {
  stopIf(notes() === undefined, `CHANGELOG.md has no section for ${version}.`);
  const tagged = git('rev-list', '-n', '1', `v${version}`);
  stopIf(tagged !== '' && tagged !== git('rev-parse', 'HEAD'), `${version} is released: raise the version.`);
  for (const { manifest } of Object.values(PACKAGES))
    stopIf(manifest.version !== version, `${manifest.name} has the version ${manifest.version}, not ${version}.`);
  const { GITHUB_ACTIONS, GITHUB_REF } = process.env;
  stopIf(
    !isDryRun && (GITHUB_ACTIONS !== 'true' || GITHUB_REF !== `refs/tags/v${version}`),
    `Packages are published by the release workflow alone, for the tag v${version}: here is --dry-run.`,
  );
  stopIfChanged();
  run('npm', ['run', '-s', 'build']);
  run('npm', ['run', '-s', 'check', '--', 'all']);
  stopIfChanged();
  // A run that was cut off can be repeated: what is published already is left out.
  const flags = ['--tag', tag, '--access', 'public', '--provenance', '--no-git-checks'];
  const { status } = pnpm(['--recursive', 'publish', ...flags, ...(isDryRun ? ['--dry-run'] : [])], root);
  stopIf(status !== 0, 'Not all packages are published.');
}

/** The text of this version's section in CHANGELOG.md, without its heading; `undefined` if it has none. */
function notes() {
  const sections = read('CHANGELOG.md').split(/^## /m).slice(1);
  const section = sections.find((text) => text.split(/\s/, 1)[0] === version);
  return section?.slice(section.indexOf('\n')).trim();
}

/** The examples name the version that is published, as a copy of one does. */
function raise(next) {
  const folders = [
    ...Object.keys(PACKAGES).map((name) => `packages/${name}`),
    ...readdirSync(join(root, 'examples')).map((name) => `examples/${name}`),
  ];
  for (const path of ['package.json', ...folders.map((folder) => `${folder}/package.json`)]) {
    if (!existsSync(join(root, path))) continue;
    const ours = /(^ {2}"version": "|"@sluice\/[\w-]+": "\^)\d[^"]*/gm;
    writeFileSync(join(root, path), read(path).replace(ours, `$1${next}`));
  }
}

function stopIfChanged() {
  const changed = git('status', '--porcelain');
  stopIf(changed !== '', `The tree has changes that are not committed:\n${changed}`);
}

function stopIf(isWrong, why) {
  if (!isWrong) return;
  console.error(why);
  process.exit(1);
}

function git(...args) {
  return spawnSync('git', args, { cwd: root, encoding: 'utf8' }).stdout.trim();
}

function run(command, args) {
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] });
  if (error !== undefined) throw error;
  stopIf(status !== 0, `\`${command} ${args.join(' ')}\` ended with ${status}.`);
}
