// Which documents of the repository are pages of the site, and where. What is not named here stays in the repository.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../scripts/packages.mjs';

/** The root of the repository, with a slash at the end. */
export const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Documents outside of docs/, and documents whose page has another name. */
const PLACES = new Map([
  ['docs/README.md', 'documents.md'],
  ['docs/contribute/README.md', 'contribute/index.md'],
  ['CONTRIBUTING.md', 'contribute/contributing.md'],
  ['ARCHITECTURE.md', 'contribute/architecture.md'],
  ['SECURITY.md', 'security.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['examples/README.md', 'examples.md'],
  ...Object.keys(PACKAGES).map((folder) => [`packages/${folder}/README.md`, `packages/${folder}.md`]),
]);

/** Addresses of the repository that a page of the site's own stands for. */
const STAND_INS = new Map([
  ['README.md', 'index.md'],
  ['docs', 'documents.md'],
  ['docs/adr', 'adr/index.md'],
  ['docs/contribute', 'contribute/index.md'],
  ['examples', 'examples.md'],
  ...Object.keys(PACKAGES).map((folder) => [`packages/${folder}`, `packages/${folder}.md`]),
]);

/**
 * The page that shows a file or folder of the repository, relative to the root of the site; undefined if none does.
 *
 * @param {string} path - Relative to the root of the repository, without a slash at the end.
 */
export function pageOf(path) {
  return (
    PLACES.get(path) ?? STAND_INS.get(path) ?? (/^docs\/.*\.md$/.test(path) ? path.slice('docs/'.length) : undefined)
  );
}

/** Every document that becomes a page: its path in the repository, and that of its page. */
export function documents() {
  const inDocs = readdirSync(`${ROOT}docs`, { recursive: true })
    .map((path) => `docs/${path.replaceAll('\\', '/')}`)
    .filter((path) => path.endsWith('.md'));
  return [...new Set([...PLACES.keys(), ...inDocs])].map((source) => ({ source, page: pageOf(source) }));
}
