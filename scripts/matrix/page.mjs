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
import { createLimiter, fixedWindow, slidingWindow } from '@sluice/core';
import { page as operatorsPage } from '@sluice/page';
import { CHROMIUM_ARGS, findChromium } from '../setup/find-chromium.mjs';

const TOKEN = 'a long secret';
const HOSTILE = [
  '<img src=x onerror="document.title=1">',
  '\u202Egnp.exe',
  'a\u0000\u001B[31mb',
  `k${'k'.repeat(999_999)}`,
];
const pictures = process.argv[2];
const changes = [];
const limiter = createLimiter({ name: 'api', policy: slidingWindow({ limit: 5, window: '1h' }) });
const login = createLimiter({ name: 'login', policy: fixedWindow({ limit: 3, window: '15m' }) });
const handler = operatorsPage({ token: TOKEN, log: (change) => changes.push(change) });
const server = createServer((request, response) => void handler(request, response));
let browser;
let page;
let problems = [];

before(async () => {
  for (const key of [...HOSTILE, 'ann', '203.0.113.7']) for (let i = 0; i < 9; i++) await limiter.consume(key);
  for (let i = 0; i < 40; i++) await login.consume('bob');
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
  await Promise.all([limiter.close(), login.close()]);
});

async function opened(options = {}) {
  const context = await browser.newContext({ httpCredentials: { username: 'ann', password: TOKEN }, ...options });
  const made = await context.newPage();
  made.on('pageerror', (error) => problems.push(error.message));
  made.on('console', (message) => message.type() === 'error' && problems.push(message.text()));
  await made.goto(`http://127.0.0.1:${server.address().port}/limits/`);
  await made.getByRole('heading', { name: 'Denied most' }).waitFor();
  return made;
}

test('the page shows who is denied most, by which limit', async () => {
  const rows = page.getByRole('region', { name: 'Denied most' }).getByRole('row');

  assert.match(await rows.nth(1).innerText(), /bob\s+login\s+37/);
  assert.match(await page.getByRole('region', { name: 'Limiters' }).innerText(), /slidingWindow 5 per 1h/);
});

test('hostile keys are text, and nothing runs', async () => {
  const text = await page.getByRole('region', { name: 'Denied most' }).innerText();

  for (const part of ['<img src=x onerror=', '\\u{202e}gnp.exe', 'a\\u{0}\\u{1b}[31mb', '(1000000 characters)'])
    assert.ok(text.includes(part), part);
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

test('Escape closes a dialog, and nothing is done', async () => {
  const before = changes.length;
  await page.getByRole('button', { name: 'Block …' }).first().click();
  await page.getByRole('dialog').waitFor();
  await page.keyboard.press('Escape');
  await page.getByRole('dialog').waitFor({ state: 'detached' });

  assert.equal(changes.length, before);
});

for (const [name, options] of [
  ['light', { colorScheme: 'light' }],
  ['dark', { colorScheme: 'dark' }],
  ['narrow', { colorScheme: 'light', viewport: { width: 400, height: 800 } }],
]) {
  test(`nothing is wider than the window: ${name}`, async () => {
    const other = await opened(options);
    await other.getByRole('button', { name: 'bob' }).first().click();
    await other.getByText(/3 of 3 in these 15 minutes/).waitFor();
    const width = await other.evaluate('document.documentElement.scrollWidth - innerWidth');
    if (pictures !== undefined) {
      mkdirSync(pictures, { recursive: true });
      await other.screenshot({ path: join(pictures, `page-${name}.png`), fullPage: true });
    }
    await other.context().close();

    assert.ok(width <= 0, `${width} px too wide`);
  });
}

test('no error was shown in the console: the Content-Security-Policy allows all that the page does', () => {
  assert.deepEqual(problems, []);
});
