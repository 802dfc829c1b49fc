// The navigation is the list in docs/README.md: its chapters are the doors, its links the entries.
import { readFileSync } from 'node:fs';
import { PACKAGES } from '../scripts/build/packages.mjs';
import { ENTRY_POINTS, REFERENCE } from './reference.mjs';
import { ROOT, linkOf } from './pages.mjs';

const LIST = 'docs/README.md';

/** The chapters: for each, its sections and their links. What stands before the first section has the chapter's title. */
const chapters = readFileSync(ROOT + LIST, 'utf8')
  .split(/^## /m)
  .slice(1)
  .map((chapter) =>
    chapter
      .split(/^### /m)
      .map((section) => ({ text: section.split('\n', 1)[0], items: linksIn(section) }))
      .filter(({ items }) => items.length > 0),
  );

/** The links to pages. */
function linksIn(section) {
  return [...section.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)]
    .map(([, text, target]) => ({ text: capital(text.replaceAll('`', '')), link: linkOf(target, LIST) }))
    .filter(({ link }) => /^\/./.test(link));
}

function capital(text) {
  return text[0].toUpperCase() + text.slice(1);
}

/** The columns beside the pages, by the beginning of their addresses. */
export function sidebars() {
  const [start, guides, reference, contribute] = chapters;
  const packages = Object.keys(PACKAGES).map((folder) => ({ text: `@sluice/${folder}`, link: `/packages/${folder}` }));
  const api = ENTRY_POINTS.map(({ specifier }) => ({ text: specifier, link: `/${REFERENCE}${specifier}/` }));
  const exact = [
    ...reference,
    { text: 'Packages', items: packages },
    { text: 'API', items: [{ text: 'All entry points', link: `/${REFERENCE}` }, ...api] },
  ];
  return {
    '/reference/': exact,
    '/packages/': exact,
    '/benchmarks': exact,
    '/changelog': exact,
    '/contribute/': contribute,
    '/adr/': contribute,
    // The first that fits is taken.
    '/': [...start, ...guides],
  };
}
