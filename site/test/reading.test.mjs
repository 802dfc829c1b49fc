// What a reader does: comes by the address of a warning, searches, changes the theme, reads on a phone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { readFileSync } from 'node:fs';
import { codesIn } from '../codes.mjs';
import { ROOT } from '../pages.mjs';
import { DESKTOP, PHONE, Site } from './browser.mjs';

const codes = codesIn(readFileSync(`${ROOT}docs/reference/errors.md`, 'utf8')).map(({ code }) => code);

let site;
before(async () => (site = await Site.open()));
after(() => site?.close());

async function search(page, query) {
  await page.keyboard.press('Control+k');
  await page.fill('#localsearch-input', query);
  await page.waitForSelector('#localsearch-list a[role=option]');
  return page.$$eval('#localsearch-list a[role=option]', (links) => links.map((link) => link.getAttribute('href')));
}

for (const [query, expected] of [
  ['token bucket', /^\/(guides\/which-policy|reference\/policies)#/],
  ['trust proxy', /^\/guides\/behind-a-proxy/],
  ['SLUICE_UNIT_MISSING', /^\/reference\/errors#sluice_unit_missing$/],
  ['Retry-After', /^\/reference\/headers/],
  ['createLimiter', /^\/reference\/api\/@sluice\/core\/functions\/createLimiter/],
  ['express-rate-limit', /^\/guides\/coming-from-express-rate-limit/],
  ['redis is away', /^\/guides\/when-redis-fails/],
  ['--max-clients', /^\/(packages\/cli|guides\/choosing-a-limit)#/],
  ['429', /^\/reference\/headers/],
]) {
  test(`a search for "${query}" finds what is about it among the first five`, async () => {
    const { page, said, close } = await site.tab();
    await page.goto(site.origin, { waitUntil: 'networkidle' });
    const found = await search(page, query);

    assert.ok(
      found.slice(0, 5).some((link) => expected.test(link)),
      found.slice(0, 10).join('\n'),
    );
    assert.deepEqual(said, []);
    await close();
  });
}

test('Enter opens the first result', async () => {
  const { page, close } = await site.tab();
  await page.goto(site.origin, { waitUntil: 'networkidle' });
  const [first] = await search(page, 'batches');
  await page.keyboard.press('Enter');
  await page.waitForURL(`**${first}`);

  assert.match(await page.textContent('h1'), /\w/);
  await close();
});

test('the address of a warning shows its section, for every code', async () => {
  const { page, close } = await site.tab();
  for (const code of codes) {
    await page.goto('about:blank');
    await page.goto(`${site.origin}/reference/errors#${code.toLowerCase()}`);
    await page.waitForFunction((id) => {
      const { top, bottom } = document.getElementById(id).getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    }, code.toLowerCase());
  }
  await close();
});

test('the theme is that of the machine until it is switched, and stays switched', async () => {
  const { page, close } = await site.tab({ colorScheme: 'dark' });
  const isDark = () => page.evaluate(() => document.documentElement.classList.contains('dark'));
  await page.goto(`${site.origin}/guides/which-policy`, { waitUntil: 'networkidle' });
  assert.equal(await isDark(), true);
  assert.equal(await page.$eval('.vp-doc img', (picture) => getComputedStyle(picture).colorScheme), 'dark');
  await page.click('.VPNavBarAppearance button');
  assert.equal(await isDark(), false);
  assert.equal(await page.$eval('.vp-doc img', (picture) => getComputedStyle(picture).colorScheme), 'light');
  await page.reload({ waitUntil: 'networkidle' });
  assert.equal(await isDark(), false);
  await close();
});

/** The packages whose pages begin with a first application. */
const PAGES = ['core', 'express', 'fastify', 'koa', 'nestjs', 'web'];

test('the first page leads to the page of each framework', async () => {
  const { page, close } = await site.tab();
  await page.goto(site.origin, { waitUntil: 'networkidle' });

  for (const place of ['.pitch', '.doors']) {
    const links = await page.$$eval(`${place} a[href*="/packages/"]`, (all) => all.map(({ pathname }) => pathname));
    assert.deepEqual(
      links.filter((link) => PAGES.includes(link.slice('/packages/'.length))).sort(),
      PAGES.map((name) => `/packages/${name}`),
    );
  }
  await close();
});

const FRAMEWORKS = { Express: 'express', Fastify: 'fastify', Koa: 'koa', NestJS: 'nestjs', Hono: 'web', Fetch: 'web' };

/** What a reader sees of the tabs on the first page: the name that is chosen, and the programs. */
const tabsIn = (page) =>
  page.$eval('.code .vp-code-group', (group) => ({
    chosen: [...group.querySelectorAll('.tabs input')].flatMap(({ checked, labels: [label] }) =>
      checked ? [label.textContent] : [],
    ),
    programs: [...group.querySelectorAll('.blocks code')].flatMap((code) =>
      code.checkVisibility() ? [code.textContent.trim()] : [],
    ),
  }));

/** The tab of a framework is chosen, and its program, which begins with how to install it, is the only one in sight. */
function isOf({ chosen, programs }, name) {
  assert.deepEqual(chosen, [name]);
  assert.equal(programs.length, 1, programs.join('\n'));
  assert.match(programs[0], new RegExp(`^// npm install .*@sluice/${FRAMEWORKS[name]}\\b`));
}

for (const [device, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
  test(`a click on a tab of the first page shows that framework's program alone, on a ${device}`, async () => {
    const { page, close } = await site.tab({ viewport });
    await page.goto(site.origin, { waitUntil: 'networkidle' });
    const labels = await page.$$('.code .tabs label');
    assert.deepEqual(await Promise.all(labels.map((label) => label.textContent())), Object.keys(FRAMEWORKS));
    isOf(await tabsIn(page), 'Express');

    for (const label of labels.reverse()) {
      await label.click();
      isOf(await tabsIn(page), await label.textContent());
    }
    await close();
  });
}

test('arrow keys choose a tab of the first page, which shows where the focus is', async () => {
  const { page, close } = await site.tab();
  await page.goto(site.origin, { waitUntil: 'networkidle' });
  await page.focus('.code .tabs input:checked');

  for (const name of Object.keys(FRAMEWORKS).slice(1)) {
    await page.keyboard.press('ArrowRight');
    isOf(await tabsIn(page), name);
    const focused = await page.$eval('.code .tabs input:focus + label', (label) => ({
      name: label.textContent,
      outline: getComputedStyle(label).outlineStyle,
    }));
    assert.deepEqual(focused, { name, outline: 'solid' });
  }
  await page.keyboard.press('ArrowRight');
  isOf(await tabsIn(page), 'Express');
  await close();
});

test('a phone shows the name of every framework on the first page', async () => {
  const { page, close } = await site.tab({ viewport: PHONE });
  await page.goto(site.origin, { waitUntil: 'networkidle' });

  const ends = await page.$$eval('.code .tabs label', (labels) =>
    labels.map((label) => label.getBoundingClientRect().right),
  );
  assert.equal(ends.length, Object.keys(FRAMEWORKS).length);
  assert.deepEqual(
    ends.filter((end) => end > PHONE.width),
    [],
  );
  await close();
});

test('code that begins the page of a framework, and commands with their JSON, are read whole on a small desk', async () => {
  const { page, close } = await site.tab();
  const cut = [];
  for (const name of PAGES) {
    await page.goto(`${site.origin}/packages/${name}`, { waitUntil: 'networkidle' });
    cut.push(
      ...(await page.$$eval('.vp-doc pre:not(#reference ~ * pre, #reference ~ pre)', (blocks) =>
        blocks.filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth).map((block) => block.textContent),
      )),
    );
  }

  assert.deepEqual(cut, []);
  await close();
});

test('the four doors are on the first page and in the bar above every page', async () => {
  const { page, close } = await site.tab();
  await page.goto(site.origin);
  const doors = ['Start', 'Guides', 'Reference', 'Contribute'];

  const headings = await page.$$eval('.doors h2', (found) =>
    found.map(({ firstChild }) => firstChild.textContent.trim()),
  );
  assert.deepEqual(headings, doors);
  const bar = await page.$$eval('.VPNavBarMenuLink', (links) => links.map((link) => link.textContent.trim()));
  assert.deepEqual(
    bar.filter((name) => doors.includes(name)),
    doors,
  );
  await close();
});

test('a phone shows all of a page within its width, and the menu leads on', async () => {
  const { page, close } = await site.tab({ viewport: PHONE });
  await page.goto(`${site.origin}/guides/which-policy`, { waitUntil: 'networkidle' });
  assert.equal(await page.evaluate(() => document.documentElement.scrollWidth), PHONE.width);
  await page.click('.VPLocalNav .menu');
  await page.click('.VPSidebar >> text=Pacing');
  await page.waitForURL('**/guides/pacing');
  await page.waitForFunction(() => document.querySelector('h1').textContent.startsWith('Pacing'));
  await close();
});
