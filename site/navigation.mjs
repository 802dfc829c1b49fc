// The navigation is the list in docs/README.md: its chapters are the doors, its links the entries.
import { readFileSync } from 'node:fs';
import { PACKAGES } from '../scripts/build/packages.mjs';
import { ENTRY_POINTS, REFERENCE } from './reference.mjs';
import { linkOf } from './links.mjs';
import { ROOT } from './pages.mjs';

const LIST = 'docs/README.md';
/** As if it stood at the root of the site, so that links begin there. */
const PLACE = { source: LIST, page: 'index.md' };

/**
 * The chapters of docs/README.md: `title`, and `sections` with a `title` (empty for what stands before the first one)
 * and `entries`, each with a `text` and a `link`. Links to what is no page are left out.
 */
export function chapters() {
  return readFileSync(ROOT + LIST, 'utf8')
    .split(/^## /m)
    .slice(1)
    .map((chapter) => {
      const [title, ...lines] = chapter.split('\n');
      const sections = lines.join('\n').split(/^### /m);
      return {
        title,
        sections: sections.map((section, i) => ({
          title: i === 0 ? '' : section.split('\n')[0],
          entries: entriesIn(section),
        })),
      };
    });
}

function entriesIn(section) {
  const items = section.split(/^- /m);
  return items
    .slice(items.length > 1 ? 1 : 0)
    .flatMap((item) => {
      const links = [...item.replace(/\s+/g, ' ').matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)];
      return links.map(([, text, target]) => ({
        text,
        target: linkOf(target, PLACE),
      }));
    })
    .filter(({ target }) => target.startsWith('./'))
    .map(({ text, target }) => ({
      text: capital(text.replaceAll('`', '')),
      link: addressOf(target.slice(2)),
    }));
}

const capital = (text) => text[0].toUpperCase() + text.slice(1);

/** The address of a page: `guides/pacing.md` is /guides/pacing. */
export const addressOf = (page) => `/${page.replace(/(?:(^|\/)index)?\.md(?=#|$)/, '$1')}`;

/** The columns beside the pages, by the beginning of their addresses. */
export function sidebars() {
  const [start, guides, reference, contribute] = chapters().map(({ title, sections }) =>
    sections.map((section) => ({
      text: section.title || title,
      items: section.entries.map(({ text, link }) => ({ text, link })),
    })),
  );
  const further = new Set(guides.flatMap(({ items }) => items.map(({ link }) => link)));
  for (const section of start) section.items = section.items.filter(({ link }) => link !== '/' && !further.has(link));
  const packages = Object.keys(PACKAGES).map((folder) => ({ text: `@sluice/${folder}`, link: `/packages/${folder}` }));
  const api = ENTRY_POINTS.map(({ specifier }) => ({ text: specifier, link: `/${REFERENCE}${specifier}/` }));
  const exact = shown([
    ...reference,
    { text: 'Packages', items: packages },
    { text: 'API', items: [{ text: 'All entry points', link: `/${REFERENCE}` }, ...api] },
  ]);
  const own = shown(contribute);
  return {
    '/reference/': exact,
    '/packages/': exact,
    '/benchmarks': exact,
    '/changelog': exact,
    '/contribute/': own,
    '/adr/': own,
    // The first that fits is taken.
    '/': shown([...start, ...guides]),
  };
}

const shown = (sections) => sections.filter(({ items }) => items.length > 0);
