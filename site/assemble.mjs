// Puts the pages of the site together in .cache/pages: the documents with links of the site.
// VitePress builds that folder.
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withLinksOfSite } from './links.mjs';
import { ROOT, documents } from './pages.mjs';

/** Where the pages are put. */
export const PAGES = fileURLToPath(new URL('.cache/pages/', import.meta.url));
const PUBLIC = fileURLToPath(new URL('public/', import.meta.url));

/** Writes every page but those of the API reference. */
export function assemble() {
  rmSync(PAGES, { recursive: true, force: true });
  for (const document of documents()) assembleOne(document);
  cpSync(`${ROOT}docs/plots`, `${PAGES}plots`, { recursive: true });
  cpSync(PUBLIC, `${PAGES}public`, { recursive: true });
}

/** Writes the page of one document. */
export function assembleOne({ source, page }) {
  const text = readFileSync(ROOT + source, 'utf8');
  // The word for the checks of a block of code is not shown.
  const shown = text.replace(/^( *```\w+) (?:run|check|serve)$/gm, '$1').replace(/^( *```)(?:promql)$/gm, '$1txt'); // no grammar here
  mkdirSync(dirname(PAGES + page), { recursive: true });
  writeFileSync(PAGES + page, withSource(withLinksOfSite(shown, { source, page }), source));
}

/** The path in the repository goes along, for "edit this page". */
function withSource(text, source) {
  const head = `---\nsource: ${source}\n`;
  return text.startsWith('---\n') ? head + text.slice('---\n'.length) : `${head}---\n\n${text}`;
}
