// Links between documents are written so that they work in the repository. Here they are made to work on the site: to
// the page that shows the file, or to the file in the repository if no page does.
import { statSync } from 'node:fs';
import { posix } from 'node:path';
import { ADDRESSES } from '../scripts/build/packages.mjs';
import { ROOT, pageOf } from './pages.mjs';

const CODE = /^( *)(`{3,})[^\n]*\n[^]*?^\1\2 *$|(`+)[^`][^]*?\3/gm;
const IMAGE = /\.(?:svg|webp)$/;

/** The text of a document with every link as the site needs it. Code stays as it is. */
export function withLinksOfSite(text, { source, page }) {
  const outside = (part) => part.replace(/\]\(([^)\s]+)\)/g, (_, target) => `](${linkOf(target, { source, page })})`);
  let written = '';
  let end = 0;
  for (const { 0: code, index } of text.matchAll(CODE)) {
    written += outside(text.slice(end, index)) + code;
    end = index + code.length;
  }
  return written + outside(text.slice(end));
}

/**
 * Where a link of a document leads on the site.
 *
 * @param {string} target - As written: relative to the document, or absolute.
 * @param {{ source: string; page: string }} place - The document in the repository, and its page.
 */
export function linkOf(target, { source, page }) {
  const ours = target.startsWith(`${ADDRESSES.repository}/`)
    ? /\/(?:blob|tree)\/main\/(.*)/.exec(target)?.[1]
    : undefined;
  if (ours === undefined && /^[a-z]+:/.test(target)) return target;
  const [path, anchor] = (ours ?? target).split('#');
  const hash = anchor === undefined ? '' : `#${anchor}`;
  if (path === '') return hash;
  const there = posix.join(ours === undefined ? posix.dirname(source) : '', path).replace(/\/$/, '');
  const shown = pageOf(there);
  if (shown !== undefined) return relative(page, shown) + hash;
  if (IMAGE.test(there) && there.startsWith('docs/')) return relative(page, there.slice('docs/'.length));
  const kind = statSync(ROOT + there).isDirectory() ? 'tree' : 'blob';
  return `${ADDRESSES.repository}/${kind}/main/${there}${hash}`;
}

function relative(page, target) {
  const path = posix.relative(posix.dirname(page), target);
  return path.startsWith('.') ? path : `./${path}`;
}
