// Opens every page of the built site in a browser, and follows every link on it.
import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { after, before, test } from 'node:test';
import { ADDRESSES } from '../../scripts/build/packages.mjs';
import { ROOT } from '../pages.mjs';
import { DIST, openSite } from './browser.mjs';

const TABS = 2;
const codes = readFileSync(`${ROOT}docs/reference/errors.md`, 'utf8').match(/(?<=^### )SLUICE_\w+/gm);

let site;
/** By address: its title, its anchors, its links. */
const pages = new Map();
const said = [];

before(async () => {
  site = await openSite();
  const addresses = readdirSync(DIST, { recursive: true })
    .filter((name) => name.endsWith('.html') && name !== '404.html')
    .map((name) => `/${name.replace(/(?:(^|\/)index)?\.html$/, '$1')}`);
  await Promise.all(Array.from({ length: TABS }, () => readAll(addresses)));
});
after(() => site?.close());

async function readAll(addresses) {
  const tab = await site.tab();
  for (let address = addresses.pop(); address !== undefined; address = addresses.pop()) {
    await tab.page.goto(site.origin + address, { waitUntil: 'load' });
    await tab.page.waitForFunction(() => document.querySelector('#app').__vue_app__);
    pages.set(address, await tab.page.evaluate(read));
  }
  said.push(...tab.said);
  await tab.close();
}

/** In the page. */
function read() {
  return {
    heading: [...(document.querySelector('h1')?.childNodes ?? [])]
      .map((node) => (node.classList?.contains('header-anchor') ? '' : node.textContent))
      .join('')
      .trim(),
    anchors: [...document.querySelectorAll('[id]')].map(({ id }) => id),
    links: [...document.links].map(({ href }) => href),
    pictures: [...document.querySelectorAll('.vp-doc img')].map(({ alt, width, height }) => ({ alt, width, height })),
  };
}

test('every page opens without a message on the console, a failed request, or a request to another host', () => {
  assert.ok(pages.size > 300, `${pages.size} pages`);
  assert.deepEqual(said, []);
});

test('every page has a heading', () => {
  assert.deepEqual(
    [...pages].filter(([, { heading }]) => heading === '').map(([address]) => address),
    [],
  );
});

test('every picture has a text and a size', () => {
  const pictures = [...pages.values()].flatMap(({ pictures: own }) => own);

  assert.ok(pictures.length > 10);
  assert.deepEqual(
    pictures.filter(({ alt, width, height }) => alt === '' || width === 0 || height === 0),
    [],
  );
});

test('every link leads to a page and an anchor of the site, or to a file of the repository', () => {
  const broken = [...pages].flatMap(([address, { links }]) =>
    links.filter((link) => !leadsSomewhere(link)).map((link) => `${address} links to ${link}`),
  );

  assert.deepEqual([...new Set(broken)], []);
});

function leadsSomewhere(link) {
  const { origin, pathname, hash } = new URL(link);
  if (origin === site.origin) {
    const page = pages.get(decodeURI(pathname));
    const anchor = decodeURIComponent(hash.slice(1));
    return page === undefined ? existsSync(DIST + pathname.slice(1)) : anchor === '' || page.anchors.includes(anchor);
  }
  if (!link.startsWith(`${ADDRESSES.repository}/`)) return true;
  const path = /\/(?:blob|tree|edit)\/main\/([^#]*)/.exec(link)?.[1];
  return path === undefined || existsSync(ROOT + path);
}

test('the address that a warning or an error names is an anchor, for every code', () => {
  const { anchors } = pages.get('/reference/errors');

  assert.deepEqual(
    codes.filter((code) => !anchors.includes(code.toLowerCase())),
    [],
  );
});

test('a page that is not there says so', async () => {
  const tab = await site.tab();
  const response = await tab.page.goto(`${site.origin}/guides/no-such-page`);

  assert.equal(response.status(), 404);
  assert.match(await tab.page.textContent('h1'), /not found/i);
  await tab.close();
});
