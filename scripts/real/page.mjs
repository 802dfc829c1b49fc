// Uses the page in a real Chromium as an operator does, with hostile keys: light, dark, and 390 px wide.
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createLimiter, fixedWindow, memoryStore, slidingWindow } from '../../packages/core/dist/index.js';
import { createPolicies, managed, redisSource } from '../../packages/core/dist/managed.js';
import { page as operatorsPage } from '@sluice/page';
import { listen, openChromium, violationsIn } from '../setup/chromium.mjs';
import { atEnd, listening, redisServer } from './programs.mjs';

const TOKEN = 'a long secret';
const HOSTILE = [
  '<img src=x onerror="document.title=1">',
  '<script>document.title=1</script>',
  '\u202Egnp.exe',
  'a\u0000\u001B[31mb',
  `k${'k'.repeat(999_999)}`,
];
const WIDER = 'document.documentElement.scrollWidth - innerWidth';
const changes = [];
const limiter = createLimiter({ name: 'api', policy: slidingWindow({ limit: 5, window: '1h' }) });
const login = createLimiter({ name: 'login', policy: fixedWindow({ limit: 3, window: '15m' }) });
const policies = createPolicies(redisSource((await redisServer()).url, { prefix: 'page' }));
await policies.put('orders', fixedWindow({ limit: 3, window: '1h' }), { apps: ['shop'] });
const orders = createLimiter({
  name: 'orders',
  policy: managed('orders'),
  app: 'shop',
  policies,
  store: memoryStore(),
});
const handler = operatorsPage({ token: TOKEN, log: (change) => changes.push(change) });
const port = await listening((request, response) => void handler(request, response));
let browser;
let page;
const said = [];

before(async () => {
  for (const key of [...HOSTILE, 'ann', '203.0.113.7']) for (let i = 0; i < 9; i++) await limiter.consume(key);
  for (let i = 0; i < 40; i++) await login.consume('bob');
  for (let i = 0; i < 30; i++) await orders.consume('acme');
  browser = await openChromium();
  page = await opened();
});

atEnd(async () => {
  await browser?.close();
  await handler.close();
  await Promise.all([limiter.close(), login.close(), orders.close()]);
  await policies.close();
});

async function opened(options = {}) {
  const context = await browser.newContext({ httpCredentials: { username: 'ann', password: TOKEN }, ...options });
  const made = await context.newPage();
  listen(made, said);
  await made.goto(`http://127.0.0.1:${port}/limits/`);
  await made.getByRole('heading', { name: 'Denied most' }).waitFor();
  return made;
}

const denied = (other) => other.getByRole('region', { name: 'Denied most' });
/** The form that is open. */
const form = (other) => oneKey(other).locator('details[open]');
const oneKey = (other) => other.getByRole('region', { name: 'One key' });

test('the page shows who is denied most, by which limit', async () => {
  const rows = denied(page).locator('form');

  assert.match(await rows.nth(0).innerText(), /bob\s+37 denials\s+login fixedWindow 3 per 15m\s+Block/);
  assert.match(await rows.nth(1).innerText(), /acme\s+27 denials\s+orders fixedWindow 3 per 1h/);
  assert.match(await page.getByRole('region', { name: 'Limiters' }).innerText(), /slidingWindow 5 per 1h/);
});

test('hostile keys are text, and nothing runs', async () => {
  const text = await denied(page).innerText();

  const parts = ['<img src=x onerror=', HOSTILE[1], '\\u{202e}gnp.exe', 'a\\u{0}\\u{1b}[31mb', '(1000000 characters)'];
  for (const part of parts) assert.ok(text.includes(part), part);
  assert.equal(await page.title(), 'Limits');
});

test('an operator finds a key, blocks and unblocks it, and sees that in the list of changes', async () => {
  await page.getByRole('button', { name: 'ann', exact: true }).first().click();
  const state = oneKey(page);
  await state.getByText('5 of 5 in 1h, 0 left').waitFor();
  await state.getByText('Block …').click();
  await form(page).getByLabel('For').selectOption('1d');
  await form(page).getByLabel('Reason').fill('floods');
  await form(page).getByRole('button', { name: 'Block', exact: true }).click();
  await state.getByText(/^Blocked until/).waitFor();

  assert.equal((await limiter.peek('ann')).outcome, 'blocked');
  await state.getByText('Unblock …').click();
  await form(page).getByLabel('Reason').fill('talked to them');
  await form(page).getByRole('button', { name: 'Unblock', exact: true }).click();
  await state.getByText('Unblock …').waitFor({ state: 'detached' });
  assert.equal((await limiter.peek('ann')).outcome, 'denied');
  await page.getByText(/block ann of api: .*blocked for 1d, by ann \(floods\)/).waitFor();
  assert.deepEqual(
    changes.map(({ what, by, reason }) => [what, by, reason]),
    [
      ['block', 'ann', 'floods'],
      ['unblock', 'ann', 'talked to them'],
    ],
  );
});

test('a key that is written is found by the keyboard alone, and forgotten', async () => {
  await page.getByLabel('Key, such as an address or a user').fill('::ffff:203.0.113.7');
  await page.keyboard.press('Enter');
  const state = oneKey(page);
  await state.getByRole('heading', { name: /^203\.0\.113\.7/ }).waitFor();
  await state.getByText('Forget what was used …').focus();
  await page.keyboard.press('Enter');
  await form(page).getByLabel('Reason').fill('a mistake');
  await page.keyboard.press('Enter');
  await state.getByText('The next request is allowed.').waitFor();

  assert.equal((await limiter.peek('203.0.113.7')).used, 0);
});

test('an override is set by the keyboard alone, beside the numbers that it replaces, and ended', async () => {
  await page.getByRole('button', { name: 'acme', exact: true }).first().focus();
  await page.keyboard.press('Enter');
  const state = oneKey(page);
  await state.getByText('3 of 3 in 1h, 0 left').waitFor();
  await state.getByText('Another limit for this key …').focus();
  await page.keyboard.press('Enter');
  await form(page).getByText('Now: fixedWindow 3 per 1h.').waitFor();
  await form(page).getByLabel('limit', { exact: true }).fill('500');
  await form(page).getByLabel('For').selectOption('1d');
  await form(page).getByLabel('Reason').fill('a launch');
  assert.equal((await orders.peek('acme')).limit, 3);
  await page.keyboard.press('Enter');
  await state.getByText(/^Override of orders: fixedWindow 500 per 1h until .*, by ann \(a launch\)\.$/).waitFor();
  assert.equal((await orders.peek('acme')).limit, 500);
  assert.equal((await orders.peek('other')).limit, 3);

  await state.getByText('End override …').click();
  await form(page).getByLabel('Reason').fill('the launch has ended');
  await form(page).getByRole('button', { name: 'End override' }).click();
  await state.getByText(/^Override of/).waitFor({ state: 'detached' });
  assert.equal((await orders.peek('acme')).limit, 3);
  assert.deepEqual(
    changes.slice(-2).map(({ what, by, before, after }) => [what, by, before, after]),
    [
      ['override', 'ann', 'fixedWindow 3 per 1h', 'fixedWindow 500 per 1h for 1d'],
      ['removeOverride', 'ann', 'fixedWindow 500 per 1h', 'fixedWindow 3 per 1h'],
    ],
  );
});

test('a change that the server rejects says why, and what was written stays', async () => {
  const state = oneKey(page);
  await state.getByText('Another limit for this key …').click();
  await form(page).getByLabel('limit', { exact: true }).fill('-1');
  await form(page).getByLabel('Reason').fill('a mistake');
  await form(page).getByRole('button', { name: 'Another limit for this key' }).click();
  await form(page).getByRole('alert').getByText('limit must be').waitFor();

  assert.equal(await form(page).getByLabel('limit', { exact: true }).inputValue(), '-1');
  assert.equal((await orders.peek('acme')).limit, 3);
});

test('counts are shown as they come, and stay while the keyboard is among them', async () => {
  for (let i = 0; i < 3; i++) await login.consume('bob');
  await denied(page).getByText('40 denials').waitFor();
  await page.getByRole('button', { name: 'bob', exact: true }).focus();
  await new Promise((resolve) => setTimeout(resolve, 2_500));

  assert.ok(
    await page
      .getByRole('button', { name: 'bob', exact: true })
      .evaluate((button) => button === globalThis.document.activeElement),
  );
  await page.getByLabel('Key, such as an address or a user').focus();
});

for (const [name, options] of [
  ['light', { colorScheme: 'light', viewport: { width: 1280, height: 900 } }],
  ['dark', { colorScheme: 'dark', viewport: { width: 1280, height: 900 } }],
  ['narrow', { colorScheme: 'light', viewport: { width: 390, height: 844 } }],
]) {
  test(`nothing is wider than the window, and axe finds nothing: ${name}`, async () => {
    const other = await opened({ ...options, bypassCSP: true });
    const found = await violationsIn(other);
    await other.getByRole('button', { name: 'acme', exact: true }).first().click();
    await other.getByText(/3 of 3 in 1h, 0 left/).waitFor();
    found.push(...(await violationsIn(other)));
    await other.getByText('Another limit for this key …').click();
    found.push(...(await violationsIn(other)));
    const width = await other.evaluate(WIDER);
    await other.context().close();

    assert.deepEqual([found, width <= 0], [[], true]);
  });
}

test('a key is blocked from its row, which is what happened to this key by this limit', async () => {
  await denied(page).getByRole('button', { name: 'Block bob' }).click();
  await oneKey(page).getByRole('heading', { name: /^bob/ }).waitFor();
  await form(page).getByLabel('Reason').fill('guesses passwords');
  await page.keyboard.press('Enter');
  await oneKey(page)
    .getByText(/^Blocked until/)
    .waitFor();

  assert.equal((await login.peek('bob')).outcome, 'blocked');
  const happened = page.getByRole('region', { name: 'What happened' });
  await happened.getByLabel('Only this key').fill('bob');
  await happened.getByLabel('Only this limit').fill('login');
  await happened.locator('.event').nth(1).waitFor({ state: 'detached' });

  const texts = await happened.locator('.event').allInnerTexts();
  assert.equal(texts.length, 1);
  assert.match(texts[0], /block bob of login: .*\(guesses passwords\)/);
});

test('no error was shown in the console: the Content-Security-Policy allows all that the page does', () => {
  // It tells of each response that is an error.
  assert.deepEqual(
    said.filter((text) => !text.includes('status of 400')),
    [],
  );
});
