// What is published. The manifest of each package has its entry points and formats, from which it is built.
import { readFileSync } from 'node:fs';

const read = (path) => JSON.parse(readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'));
const root = read('package.json');

/** Where the project lives. The one place that says so is the manifest at the root. */
export const ADDRESSES = {
  /** The repository, without `.git`. */
  repository: root.repository.url.replace(/^git\+|\.git$/g, ''),
  /** The site, whose pages are those of docs/. */
  site: root.homepage,
};

const FOLDERS = ['core', 'page', 'express', 'fastify', 'koa', 'nestjs', 'server', 'web', 'compat', 'cli'];

/**
 * Per folder of packages/:
 *
 * - `manifest` - what its package.json says;
 * - `entries` - by path in `exports`, the file in src/;
 * - `formats` - the formats of its modules.
 */
export const PACKAGES = Object.fromEntries(
  FOLDERS.map((folder) => {
    const manifest = read(`packages/${folder}/package.json`);
    const entries = Object.entries(manifest.exports).flatMap(([path, { '@sluice/source': source }]) =>
      source === undefined ? [] : [[path, source.replace('./src/', '')]],
    );
    const formats = JSON.stringify(manifest.exports).includes('"require"') ? ['esm', 'cjs'] : ['esm'];
    return [folder, { manifest, entries: Object.fromEntries(entries), formats }];
  }),
);

/** The name of an entry point's files in dist/: `.` is index, `./http` is http. */
export const nameOf = (path) => (path === '.' ? 'index' : path.slice(2));
