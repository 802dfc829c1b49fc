// Which documents of the repository are pages of the site, where, and where their links lead, which are written so that
// they work in the repository.
import { statSync } from 'node:fs';
import { posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ADDRESSES, PACKAGES } from '../scripts/build/packages.mjs';

/** The root of the repository, with a slash at the end. */
export const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** Where TypeDoc writes the API reference. */
export const API = 'site/api/';

/** Documents outside of docs/, documents whose page has another name, and what another page stands for. */
const PAGES = {
  'README.md': 'index.md',
  'docs/README.md': 'documents.md',
  'docs/contribute/README.md': 'contribute/index.md',
  'docs/adr/README.md': 'adr/index.md',
  'CONTRIBUTING.md': 'contribute/contributing.md',
  'ARCHITECTURE.md': 'contribute/architecture.md',
  'SECURITY.md': 'security.md',
  'CHANGELOG.md': 'changelog.md',
  'examples/README.md': 'examples.md',
  'packages/README.md': 'reference/api/index.md',
  ...Object.fromEntries(Object.keys(PACKAGES).map((name) => [`packages/${name}/README.md`, `packages/${name}.md`])),
};
/** Folders of pages, and where these begin on the site. */
const FOLDERS = { 'docs/': '', 'site/pages/': '', [API]: 'reference/api/' };

/**
 * The page that shows a file, relative to the root of the site; undefined if none does. That of a folder is its README's.
 *
 * @param {string} path - Relative to the root of the repository, without a slash at the end.
 */
export function pageOf(path) {
  const document = path.endsWith('.md') ? path : `${path}/README.md`;
  if (document in PAGES || document !== path) return PAGES[document];
  const folder = Object.keys(FOLDERS).find((begin) => path.startsWith(begin));
  return folder && FOLDERS[folder] + path.slice(folder.length);
}

/**
 * Where a link of a document leads: to the page that shows the file, or to the file in the repository if no page does.
 *
 * @param {string} target - As written: relative to the document, or absolute.
 * @param {string} source - The document in the repository.
 */
export function linkOf(target, source) {
  const isOurs = target.startsWith(`${ADDRESSES.repository}/`);
  const ours = isOurs ? /\/(?:blob|tree)\/main\/(.*)/.exec(target)?.[1] : undefined;
  if (ours === undefined && /^[a-z]+:|^#/.test(target)) return target;
  const [path, hash = ''] = (ours ?? target).split(/(?=#)/);
  const there = posix.join(ours === undefined ? posix.dirname(source) : '', path).replace(/\/$/, '');
  const page = pageOf(there);
  if (page !== undefined) return `/${page.replace(/(?:(^|\/)index)?\.md$/, '$1')}${hash}`;
  const kind = statSync(ROOT + there).isDirectory() ? 'tree' : 'blob';
  return `${ADDRESSES.repository}/${kind}/main/${there}${hash}`;
}
