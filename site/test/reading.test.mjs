// What a reader does: searches, changes the theme, reads on a phone.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PHONE, openSite } from './browser.mjs';

let site;
before(async () => (site = await openSite()));
after(() => site?.close());

async function search(page, query) {
  await page.keyboard.press('Control+k');
  await page.fill('#localsearch-input', query);
  await page.waitForSelector('#localsearch-list li[role=option] a');
  return page.$$eval('#localsearch-list li[role=option] a', (links) => links.map((link) => link.getAttribute('href')));
}

/** What readers type, the page that is about it, and among how many it is. */
const NAMES = [
  ['token bucket', '/(guides/which-policy|reference/policies)#'],
  ['trust proxy', '/guides/behind-a-proxy'],
  ['SLUICE_UNIT_MISSING', '/reference/errors#sluice_unit_missing$'],
  ['Retry-After', '/reference/headers'],
  ['createLimiter', '/reference/api/@sluice/core/functions/createLimiter'],
  ['express-rate-limit', '/guides/coming-from-express-rate-limit'],
  ['redis is away', '/guides/when-redis-fails'],
  ['--max-clients', '/(packages/cli|guides/choosing-a-limit)#'],
  ['429', '/reference/headers'],
];

/** In words that no guide has in its title, and the guide that answers. */
const QUESTIONS = [
  ['stop brute force login', 'limit-logins'],
  ['429 behind nginx', 'behind-a-proxy'],
  ['x-forwarded-for all users share one limit', 'behind-a-proxy'],
  ['redis down what happens', 'when-redis-fails'],
  ['limit openai tokens per user', 'count-llm-tokens'],
  ['free and paid tiers', 'limit-by-plan'],
  ['ban abusive ip for an hour', 'blocking'],
  ['queue outgoing calls to a third party api', 'waiting'],
  ['only count failed attempts', 'refunds'],
  ['different quota per customer without redeploy', 'managed-policies'],
  ['how much ram does it need', 'capacity-planning'],
  ['elasticache tls connection string', 'redis-clients'],
  ['NOPERM acl user', 'redis-permissions'],
  ['prometheus dashboard', 'monitoring'],
  ['fake time in jest', 'testing-your-application'],
  ['mongodb dynamodb', 'creating-a-store'],
  ['use postgres instead', 'databases'],
  ['throttle uploads or webhooks', 'recipes'],
  ['socket.io messages per second', 'websocket-graphql-jobs'],
  ['simultaneous requests per user max 3', 'concurrency'],
];

test('a search finds what is about it among the first five, for a question among the first three', async () => {
  const wrong = [];
  const asked = [
    ...NAMES.map(([query, address]) => [query, new RegExp(`^${address}`), 5]),
    ...QUESTIONS.map(([query, guide]) => [query, new RegExp(`^/guides/${guide}#`), 3]),
  ];
  for (const [query, address, count] of asked) {
    // VitePress keeps the last question of a tab, and first shows what it had found.
    const { page, said, close } = await site.tab();
    await page.goto(site.origin, { waitUntil: 'networkidle' });
    const found = (await search(page, query)).slice(0, count);
    if (!found.some((link) => address.test(link))) wrong.push(`${query}: ${found.join(' ')}`);
    wrong.push(...said);
    await close();
  }

  assert.deepEqual(wrong, []);
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

test('the first page sells: how to install is copied, each framework has its program, four facts have their proof', async () => {
  const { page, said, close } = await site.tab();
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(site.origin, { waitUntil: 'networkidle' });

  const copy = page.locator('.language-sh > .copy');
  assert.equal(await copy.evaluate((button) => getComputedStyle(button).opacity), '1');
  await copy.click();
  assert.match(
    await page.evaluate(() => globalThis.navigator.clipboard.readText()),
    /^npm install \.\/sluice-core-\S+\.tgz/,
  );
  for (const name of ['Fetch', 'Hono', 'NestJS', 'Koa', 'Fastify', 'Express']) {
    await page.getByText(name, { exact: true }).first().click();
    const programs = await page.$$eval('.vp-code-group .blocks code', (all) =>
      all.flatMap((code) => (code.checkVisibility() ? [code.textContent] : [])),
    );
    assert.equal(programs.length, 1);
    assert.ok(programs[0].includes(`@sluice/${{ Fetch: 'web', Hono: 'web' }[name] ?? name.toLowerCase()}`), name);
  }
  const links = await page.$$eval('.vp-doc a[href*="/packages/"]', (all) => all.map(({ pathname }) => pathname));
  for (const name of PAGES) assert.ok(links.includes(`/packages/${name}`), name);
  assert.equal(await page.locator('.VPFeature a, a.VPFeature').count(), 4);
  assert.deepEqual(said, []);
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

test('a table that scrolls holds its first column', async () => {
  const { page, close } = await site.tab({ viewport: PHONE });
  await page.goto(`${site.origin}/benchmarks`, { waitUntil: 'networkidle' });
  const table = page.locator('.vp-doc table').first();
  const left = () =>
    table
      .locator('td')
      .first()
      .evaluate((cell) => cell.getBoundingClientRect().left);
  const before = await left();
  await table.evaluate((element) => element.scrollBy({ left: 90 }));
  assert.ok((await table.evaluate(({ scrollLeft }) => scrollLeft)) > 50);

  assert.ok(Math.abs((await left()) - before) < 1); // half of a border
  await close();
});

test('on a phone, the menu leads on', async () => {
  const { page, close } = await site.tab({ viewport: PHONE });
  await page.goto(`${site.origin}/guides/which-policy`, { waitUntil: 'networkidle' });
  await page.click('.VPLocalNav .menu');
  await page.click('.VPSidebar >> text=Delay requests');
  await page.waitForURL('**/guides/pacing');
  await page.waitForFunction(() => document.querySelector('h1').textContent.startsWith('Delay requests'));
  await close();
});
