// The navigation is the list in docs/README.md: its chapters are the doors, its links the entries.
import { readFileSync } from 'node:fs';
import { ENTRY_POINTS, REFERENCE } from './reference.mjs';
import { linkOf } from './links.mjs';
import { ROOT } from './pages.mjs';

const LIST = 'docs/README.md';
/** As if it stood at the root of the site, so that links begin there. */
const PLACE = { source: LIST, page: 'index.md' };

/**
 * The chapters of docs/README.md: `title`, and `sections` with a `title` (empty for what stands before the first one) and
 * `entries`, each with a `text` and a `link`. Links to what is no page are left out.
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
  return [...section.matchAll(/\[([^\]]+)\]\(([^)\s]+)\)/g)]
    .map(([, text, target]) => ({ text: text.replaceAll('`', ''), target: linkOf(target, PLACE) }))
    .filter(({ target }) => target.startsWith('./'))
    .map(({ text, target }) => ({ text, link: addressOf(target.slice(2)) }));
}

/** The address of a page: `guides/pacing.md` is /guides/pacing. */
export const addressOf = (page) => `/${page.replace(/(?:(^|\/)index)?\.md(?=#|$)/, '$1')}`;

/** The columns beside the pages, by the beginning of their addresses. */
export function sidebars() {
  const [start, guides, reference, contribute] = chapters();
  const group = ({ title, entries }, chapter) => ({ text: title || chapter, items: unique(entries) });
  const of = ({ title, sections }) =>
    sections.filter(({ entries }) => entries.length > 0).map((section) => group(section, title));
  const api = {
    text: 'API',
    items: [
      { text: 'Overview', link: `/${REFERENCE}` },
      ...ENTRY_POINTS.map(({ specifier }) => ({ text: specifier, link: `/${REFERENCE}${specifier}/` })),
    ],
  };
  const all = [...of(start), ...of(guides)];
  return {
    '/': all,
    '/reference/': [...of(reference), api],
    '/benchmarks': [...of(reference), api],
    '/contribute/': of(contribute),
    '/adr/': of(contribute),
  };
}

function unique(entries) {
  return entries.filter(({ link }, i) => link !== '/' && entries.findIndex((other) => other.link === link) === i);
}
