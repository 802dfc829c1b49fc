import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ratiosOf } from './measure/interleave.mjs';

const own = fileURLToPath(new URL('.', import.meta.url));
const INTERNALS = 'contenders/sync.mjs';

/**
 * These benchmarks beside the packages of another checkout: a temporary folder with a copy of `src`, where every
 * import of a package resolves to the installed and built packages of the other checkout. Only the contender that uses
 * internals of core is a file of the other checkout.
 *
 * @returns The folder whose children measure the other build.
 */
export function besideOtherBuild(folder) {
  const packages = join(realpathSync(folder), 'packages');
  const theirs = join(packages, 'benchmarks');
  for (const needed of [entryOf(join(packages, 'core')), join(theirs, 'node_modules')]) {
    if (existsSync(needed)) continue;
    console.error(`--against: ${needed} is missing: \`npm run setup\` and \`npm run build\` there make it`);
    process.exit(2);
  }
  const root = mkdtempSync(join(tmpdir(), 'sluice-bench-against-'));
  process.once('exit', () => rmSync(root, { recursive: true, force: true }));
  const src = join(root, 'packages/benchmarks/src');
  mkdirSync(src, { recursive: true });
  cpSync(own, src, { recursive: true });
  cpSync(join(theirs, 'src', INTERNALS), join(src, INTERNALS));
  cpSync(join(own, '../package.json'), join(src, '../package.json'));
  symlinkSync(join(theirs, 'node_modules'), join(src, '../node_modules'));
  symlinkSync(join(packages, 'core'), join(root, 'packages/core'));
  return src;
}

/** The file that `import` loads: builds have put it in different folders. The manifest, where there is none. */
function entryOf(folder) {
  const manifest = join(folder, 'package.json');
  if (!existsSync(manifest)) return manifest;
  const { exports } = JSON.parse(readFileSync(manifest, 'utf8'));
  const { import: forImport, default: otherwise } = exports['.'];
  return join(folder, forImport?.default ?? otherwise);
}

const nameOfOther = (name) => `${name} (against)`;

/**
 * The members to measure: all, or, against another build, the floors, ours, and ours of that build right after each.
 *
 * @param members - Each `{ name, kind }`, and `contender`, where it has another name in the lists.
 * @param floor - A member that others are compared with, although it is a peer.
 * @returns Each with `contender`, and `build`, where that is the other one.
 */
export function membersOf(members, { against }, floor) {
  return members.flatMap((member) => {
    const own = { contender: member.name, ...member };
    if (against === undefined) return [own];
    if (member.kind === 'ours') {
      return [own, { ...own, name: nameOfOther(member.name), kind: 'against', build: against }];
    }
    return member.kind === 'floor' || member.name === floor ? [own] : [];
  });
}

/**
 * The ratio of one of ours to that of the other build, for its row.
 *
 * @param rounds - By name, in rounds of so many slices.
 */
export function ofAgainst({ name }, rounds, slices) {
  const others = rounds.get(nameOfOther(name));
  return others && ratiosOf(rounds.get(name), others, slices);
}
