// Uses the page in a real Chromium as an operator does, with hostile keys, and takes pictures of it: light, dark, 400 px.
// Run `npm run build` first.
//
//   node scripts/matrix/page.mjs [FOLDER for the pictures]
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { chromium } from 'playwright-core';
import axe from 'axe-core';
import { createLimiter, fixedWindow, memoryStore, redisStore, slidingWindow } from '@sluice/old-core';
import { connectionOf } from '@sluice/old-core/spi';
import { createPolicies, managed } from '@sluice/old-managed';
import { page as operatorsPage } from '@sluice/page';
import { RedisPages } from '@sluice/page/spi';
import { startRedis } from '../../packages/testkit/dist/redis-server.js';
import { CHROMIUM_ARGS, findChromium } from '../setup/find-chromium.mjs';

const TOKEN = 'a long secret';
const HOSTILE = [
  '<img src=x onerror="document.title=1">',
  '<script>document.title=1</script>',
  '\u202Egnp.exe',
  'a\u0000\u001B[31mb',
  `k${'k'.repeat(999_999)}`,
];
const WIDER = 'document.documentElement.scrollWidth - innerWidth';
const pictures = process.argv[2];
const changes = [];
const limiter = createLimiter({ name: 'api', policy: slidingWindow({ limit: 5, window: '1h' }) });
const login = createLimiter({ name: 'login', policy: fixedWindow({ limit: 3, window: '15m' }) });
const policies = createPolicies(sourceInMemory());
await policies.put('orders', fixedWindow({ limit: 3, window: '1h' }), { apps: ['shop'] });
const orders = createLimiter({
  name: 'orders',
  policy: managed('orders'),
  app: 'shop',
  policies,
  store: memoryStore(),
});
const handler = operatorsPage({ token: TOKEN, log: (change) => changes.push(change) });
const server = createServer((request, response) => void handler(request, response));
let browser;
let page;
let problems = [];

before(async () => {
  for (const key of [...HOSTILE, 'ann', '203.0.113.7']) for (let i = 0; i < 9; i++) await limiter.consume(key);
  for (let i = 0; i < 40; i++) await login.consume('bob');
  for (let i = 0; i < 30; i++) await orders.consume('acme');
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  browser = await chromium.launch({ executablePath: findChromium(), args: CHROMIUM_ARGS });
  page = await opened();
});

after(async () => {
  await browser?.close();
  await handler.close();
  server.closeAllConnections();
  server.close();
  await Promise.all([limiter.close(), login.close(), orders.close()]);
  await policies.close();
});

/** Where the managed policies of this test are. */
function sourceInMemory() {
  let records = {};
  const write = async (name, record, before) => {
    if (records[name] !== before) return false;
    records = { ...records, [name]: record };
    return true;
  };
  return { load: async () => records, put: write, remove: write };
}

async function opened(options = {}, listener = server) {
  const context = await browser.newContext({ httpCredentials: { username: 'ann', password: TOKEN }, ...options });
  const made = await context.newPage();
  made.on('pageerror', (error) => problems.push(error.message));
  made.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await made.goto(`http://127.0.0.1:${listener.address().port}/limits/`);
  await made.getByRole('heading', { name: 'Denied most', exact: true }).waitFor();
  return made;
}

test('the page shows who is denied most, by which limit', async () => {
  const rows = page.getByRole('region', { name: 'Denied most' }).getByRole('row');

  assert.match(await rows.nth(1).innerText(), /bob\s+login\s+37/);
  assert.match(await rows.nth(2).innerText(), /acme\s+orders\s+27/);
  assert.match(await page.getByRole('region', { name: 'Limiters' }).innerText(), /slidingWindow 5 per 1h/);
});

test('hostile keys are text, and nothing runs', async () => {
  const text = await page.getByRole('region', { name: 'Denied most' }).innerText();

  const parts = ['<img src=x onerror=', HOSTILE[1], '\\u{202e}gnp.exe', 'a\\u{0}\\u{1b}[31mb', '(1000000 characters)'];
  for (const part of parts) assert.ok(text.includes(part), part);
  assert.equal(await page.title(), 'Limits');
});

test('an operator finds a key, blocks and unblocks it, and sees that in the list of changes', async () => {
  await page.getByRole('button', { name: 'ann', exact: true }).first().click();
  const state = page.getByRole('region', { name: 'One key' });
  await state.getByText('5 of 5 in this hour, 0 left').waitFor();
  await state.getByRole('button', { name: 'Block …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('For').selectOption('1d');
  await dialog.getByLabel('Reason').fill('floods');
  await dialog.getByRole('button', { name: 'Block', exact: true }).click();
  await state.getByText(/^Blocked until/).waitFor();

  assert.equal((await limiter.peek('ann')).outcome, 'blocked');
  await state.getByRole('button', { name: 'Unblock …' }).click();
  await page.getByRole('dialog').getByLabel('Reason').fill('talked to them');
  await page.getByRole('dialog').getByRole('button', { name: 'Unblock', exact: true }).click();
  await state.getByRole('button', { name: 'Block …' }).waitFor();
  assert.equal((await limiter.peek('ann')).outcome, 'denied');
  await page.getByText(/ann: block ann of api for 1d \(floods\)/).waitFor();
  assert.deepEqual(
    changes.map(({ action, by, reason }) => [action, by, reason]),
    [
      ['block', 'ann', 'floods'],
      ['unblock', 'ann', 'talked to them'],
    ],
  );
});

test('a key that is written is found by the keyboard alone, and forgotten', async () => {
  await page.getByLabel('Key, such as an address or a user').fill('::ffff:203.0.113.7');
  await page.keyboard.press('Enter');
  const state = page.getByRole('region', { name: 'One key' });
  await state.getByRole('heading', { name: /^203\.0\.113\.7/ }).waitFor();
  await state.getByRole('button', { name: 'Forget what was used …' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').getByLabel('Reason').fill('a mistake');
  await page.keyboard.press('Enter');
  await state.getByText('The next request is allowed.').waitFor();

  assert.equal((await limiter.peek('203.0.113.7')).used, 0);
});

test('an override is set by the keyboard alone, beside the numbers that it replaces, and ended', async () => {
  await page.getByRole('button', { name: 'acme' }).first().focus();
  await page.keyboard.press('Enter');
  const state = page.getByRole('region', { name: 'One key' });
  await state.getByText('3 of 3 in this hour, 0 left').waitFor();
  const opener = state.getByRole('button', { name: 'Another limit for this key …' });
  await opener.focus();
  await page.keyboard.press('Enter');
  const dialog = page.getByRole('dialog');
  await dialog.getByText('Now: fixedWindow 3 per 1h.').waitFor();
  await dialog.getByLabel('limit').fill('500');
  await dialog.getByLabel('For').selectOption('1d');
  await dialog.getByLabel('Reason').fill('a launch');
  assert.equal((await orders.peek('acme')).limit, 3);
  await page.keyboard.press('Enter');
  await state.getByText(/^Override of orders: fixedWindow 500 per 1h until .*, by ann \(a launch\)\.$/).waitFor();
  assert.equal((await orders.peek('acme')).limit, 500);
  assert.equal((await orders.peek('other')).limit, 3);
  assert.ok(await opener.evaluate((button) => button === globalThis.document.activeElement));

  await state.getByRole('button', { name: 'End override …' }).click();
  await dialog.getByLabel('Reason').fill('the launch has ended');
  await dialog.getByRole('button', { name: 'End override' }).click();
  await state.getByText(/^Override of/).waitFor({ state: 'detached' });
  assert.equal((await orders.peek('acme')).limit, 3);
  assert.deepEqual(
    changes.slice(-2).map(({ action, by, detail }) => [action, by, detail]),
    [
      ['set override', 'ann', 'fixedWindow 3 per 1h -> fixedWindow 500 per 1h for 1d'],
      ['end override', 'ann', 'fixedWindow 500 per 1h -> fixedWindow 3 per 1h'],
    ],
  );
});

test('a change that the server rejects says why, and the dialog stays', async () => {
  await page.getByRole('button', { name: 'Another limit for this key …' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('limit').fill('-1');
  await dialog.getByLabel('Reason').fill('a mistake');
  await dialog.getByRole('button', { name: 'Set override' }).click();
  await dialog.getByRole('alert').getByText('limit').waitFor();
  await page.keyboard.press('Escape');
  problems = problems.filter((text) => !text.includes('400')); // the console tells of each response that is an error

  assert.equal((await orders.peek('acme')).limit, 3);
});

test('Escape closes a dialog, nothing is done, and the focus is where it was', async () => {
  const before = changes.length;
  const opener = page.getByRole('button', { name: 'Block …' }).first();
  await opener.focus();
  await page.keyboard.press('Enter');
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  assert.equal(changes.length, before);
  assert.ok(await opener.evaluate((button) => button === globalThis.document.activeElement));
});

test('the keyboard reaches every button, link and field, in their order', async () => {
  const CONTROLS = 'button, input, select, a';
  const all = await page.locator(CONTROLS).count();
  await page.locator(CONTROLS).first().focus();
  const reached = [];
  for (let i = 0; i < all; i++) {
    reached.push(
      await page.evaluate(
        (controls) => [...globalThis.document.querySelectorAll(controls)].indexOf(globalThis.document.activeElement),
        CONTROLS,
      ),
    );
    await page.keyboard.press('Tab');
  }

  assert.deepEqual(
    reached,
    Array.from({ length: all }, (_, i) => i),
  );
});

/** What axe-core finds in the present state of a page: rule, element, and why. */
async function violationsIn(other, state) {
  const { violations } = await other.evaluate(() => globalThis.axe.run());
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${state}: ${id} ${target.join(' ')} ${failureSummary}`),
  );
}

async function picture(other, name) {
  if (pictures === undefined) return;
  mkdirSync(pictures, { recursive: true });
  await other.screenshot({ path: join(pictures, `page-${name}.png`), fullPage: true });
}

for (const [name, options] of [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { colorScheme: 'light', viewport: { width: 400, height: 800 } }],
]) {
  test(`nothing is wider than the window: ${name}`, async () => {
    const other = await opened(options);
    await other.getByRole('button', { name: 'bob' }).first().click();
    await other.getByText(/3 of 3 in these 15 minutes/).waitFor();
    const width = await other.evaluate(WIDER);
    await picture(other, name);
    await other.context().close();

    assert.ok(width <= 0, `${width} px too wide`);
  });

  test(`axe finds nothing: ${name}`, async () => {
    const other = await opened({ ...options, bypassCSP: true });
    await other.evaluate(axe.source);
    const found = await violationsIn(other, 'at first');
    await other.getByRole('button', { name: 'acme' }).first().click();
    await other.getByText(/of 3 in this hour/).waitFor();
    found.push(...(await violationsIn(other, 'a key')));
    await other.getByRole('button', { name: 'Block …' }).click();
    found.push(...(await violationsIn(other, 'a dialog')));
    await other.keyboard.press('Escape');
    await other.getByRole('button', { name: 'Another limit for this key …' }).click();
    await other.getByRole('dialog').getByLabel('limit').fill('500');
    await other.getByRole('dialog').getByLabel('Reason').fill('a launch');
    found.push(...(await violationsIn(other, 'other numbers')));
    await picture(other, `${name}-dialog`);
    await other.context().close();

    assert.deepEqual(found, []);
  });
}

test('the page shows what all processes deny, says whose counts those are, and opens a key of another one', async () => {
  const redis = await startRedis();
  const store = redisStore(redis.url, { prefix: 'sluice' });
  const shared = createLimiter({ name: 'carts', policy: fixedWindow({ limit: 3, window: '1h' }), store });
  const sharing = operatorsPage({ token: TOKEN, limiters: [shared], share: true, log: () => undefined });
  const second = createServer((request, response) => void sharing(request, response)).listen(0, '127.0.0.1');
  await once(second, 'listening');
  try {
    for (let i = 0; i < 5; i++) await shared.consume('mallory');
    const [count, id] = [{ count: 40, atLeast: 38, atMost: 44 }, 'of another secret'];
    const keys = HOSTILE.slice(0, 4).map((key) => ({ id, limiter: 'carts', policy: 'carts', key, ...count }));
    const process = { pid: 4711, host: 'web-7', sinceMs: 0 };
    const record = { process, isHashed: false, sinceMs: 0, oneIn: 1, beyond: 0, keys };
    await new RedisPages(connectionOf(store)).put('other', record);
    const other = await opened({ viewport: { width: 400, height: 800 }, bypassCSP: true }, second);
    const all = other.getByRole('region', { name: 'Denied most', exact: true });
    await all.getByText(/By this process and 1 more: 4711 on web-7/).waitFor();
    const rows = await all.getByRole('row').allInnerTexts();
    await all.getByRole('button', { name: HOSTILE[0] }).click();
    await other.getByText('0 of 3 in this hour, 3 left').waitFor();
    await other.evaluate(axe.source);
    const [found, width] = [await violationsIn(other, 'shared'), await other.evaluate(WIDER)];
    const title = await other.title();
    await picture(other, 'narrow-shared');
    await other.context().close();

    assert.equal(rows.length, 6);
    assert.match(rows[1], /about 40 \(38 to 44\)/);
    assert.ok(rows.some((row) => row.includes(HOSTILE[1])));
    assert.match(rows[5], /mallory[^]*2/);
    assert.deepEqual([title, found, width <= 0], ['Limits', [], true]);
  } finally {
    await sharing.close();
    second.closeAllConnections();
    second.close();
    await shared.close();
    await store.close();
    await redis.stop();
  }
});

test('no error was shown in the console: the Content-Security-Policy allows all that the page does', () => {
  assert.deepEqual(problems, []);
});
