// Makes a version of the changesets: `npm run version-packages`. It raises all published packages to the same version,
// removes the changesets, and writes their texts into a section of CHANGELOG.md. It commits nothing.
import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { withVersion } from './changelog.mjs';
import { pendingRelease } from './pending-release.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const path = new URL('../../CHANGELOG.md', import.meta.url);

const pending = await pendingRelease(root);
if (pending === undefined) {
  console.error('No changeset raises the version: `npm run changeset` writes one.');
  process.exit(1);
}
const { status } = spawnSync(`${root}node_modules/.bin/changeset`, ['version'], {
  cwd: root,
  stdio: ['ignore', 'ignore', 'inherit'],
});
if (status !== 0) process.exit(status ?? 1);
const today = new Date().toISOString().slice(0, 10);
writeFileSync(path, withVersion(readFileSync(path, 'utf8'), pending.version, today, pending.texts));
console.log(`All packages have version ${pending.version}. Read CHANGELOG.md, then commit.`);
