// The files that programs read instead of the site: every page as the text that it was made from, beside it as `.md`;
// llms.txt, a list of them; llms-full.txt, the documents for users in one file.
import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { ADDRESSES } from '../scripts/build/packages.mjs';
import { PAGES } from './assemble.mjs';
import { chapters, pageAt } from './navigation.mjs';

const DIST = fileURLToPath(new URL('dist/', import.meta.url));
/** The chapter that is not for users of the packages. */
const FOR_AUTHORS = 'Contribute';
const ABOUT = `# Sluice

> Rate limiting for Node.js (Express, Fastify, Koa, NestJS, Hono, fetch handlers, or without HTTP) that holds across processes: exact to the unit and the millisecond, the same in memory and in Redis.
`;

export function writeTexts() {
  cpSync(PAGES, DIST, {
    recursive: true,
    filter: (path) => !['public', 'plots'].some((folder) => path.includes(PAGES + folder)),
  });
  writeFileSync(`${DIST}index.md`, textOf('index.md'));
  const found = chapters().map(({ title, sections }) => ({
    title,
    entries: sections.flatMap(({ entries }) => entries),
  }));
  const lists = found.map(({ title, entries }) => `## ${title}\n\n${once(entries).map(lineOf).join('\n')}\n`);
  const whole = `\nAll of the documents for users in one file: ${ADDRESSES.site}/llms-full.txt\n`;
  writeFileSync(`${DIST}llms.txt`, [ABOUT + whole, ...lists].join('\n'));

  const read = found.filter(({ title }) => title !== FOR_AUTHORS).flatMap(({ entries }) => entries);
  const texts = once(read).map(({ link }) => `<!-- ${ADDRESSES.site}${link} -->\n\n${textOf(pageAt(link))}`);
  writeFileSync(`${DIST}llms-full.txt`, [ABOUT, ...texts].join('\n'));
}

/** A page without what only its layout needs. */
const textOf = (page) =>
  readFileSync(PAGES + page, 'utf8')
    .replace(/^---\n[^]*?\n---\n+/, '')
    .replace(/^<script[^]*?<\/script>\n+|^(?:<\/?(?:main|VP)\w*\b.*>|:::.*)\n/gm, '');

const lineOf = ({ text, link, about }) =>
  `- [${text}](${ADDRESSES.site}/${pageAt(link)})${about === '' ? '' : `: ${about}`}`;

/** Each page once, and only whole pages. */
const once = (entries) =>
  entries.filter(({ link }, i) => !link.includes('#') && entries.findIndex((other) => other.link === link) === i);
