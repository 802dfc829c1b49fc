// Which documents of the repository are pages of the site, and where. Other documents stay in the repository.
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../scripts/build/packages.mjs';

/** The root of the repository, with a slash at the end. */
export const ROOT = fileURLToPath(new URL('../', import.meta.url));

/** Documents outside of docs/, and documents whose page has another name. */
const PLACES = new Map([
  ['docs/README.md', 'documents.md'],
  ['docs/contribute/README.md', 'contribute/index.md'],
  ['docs/adr/README.md', 'adr/index.md'],
  ['CONTRIBUTING.md', 'contribute/contributing.md'],
  ['ARCHITECTURE.md', 'contribute/architecture.md'],
  ['SECURITY.md', 'security.md'],
  ['CHANGELOG.md', 'changelog.md'],
  ['examples/README.md', 'examples.md'],
  ...Object.keys(PACKAGES).map((folder) => [`packages/${folder}/README.md`, `packages/${folder}.md`]),
]);

/** Pages that only the site has. */
const OWN = 'site/pages/';

/** Addresses of the repository that another page stands for. */
const STAND_INS = new Map([
  ['README.md', 'index.md'],
  ['docs', 'documents.md'],
  ['docs/adr', 'adr/index.md'],
  ['packages', 'reference/api/index.md'],
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
  const named = PLACES.get(path) ?? STAND_INS.get(path);
  if (named !== undefined || !path.endsWith('.md')) return named;
  const folder = ['docs/', OWN].find((begin) => path.startsWith(begin));
  return folder && path.slice(folder.length);
}

/** Every document that becomes a page: its path in the repository, and that of its page. */
export function documents() {
  const found = ['docs/', OWN].flatMap((folder) =>
    readdirSync(ROOT + folder, { recursive: true }).map((path) => folder + path.replaceAll('\\', '/')),
  );
  const sources = new Set([...PLACES.keys(), ...found.filter((path) => path.endsWith('.md'))]);
  return [...sources].map((source) => ({ source, page: pageOf(source) }));
}
