// Goes through examples/incident in a real Chromium as its operator, by what the screen says, and counts clicks: who is denied
// and why, a block, twice the limit for one customer, a raised limit. Prints the clicks and seconds of each: a person takes longer
// to read and to type. Run `npm run build` first.
//
//   node scripts/matrix/incident.mjs [FOLDER for the pictures, as in docs/pictures]
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';
import { CHROMIUM_ARGS, findChromium } from '../setup/find-chromium.mjs';

const PROGRAM = fileURLToPath(new URL('../../examples/incident/dist/main.js', import.meta.url));
const TOKEN = 'a secret of operators';
const pictures = process.argv[2];
const printed = [];
let example;
let browser;
let page;
let clicks = 0;

before(async () => {
  example = spawn(process.execPath, [PROGRAM], { env: { ...process.env, PORT: '0', TOKEN } });
  const lines = createInterface(example.stdout);
  lines.on('line', (line) => printed.push(line));
  const url = await untilPrinted(/^Listening on (\S+):/);
  await untilPrinted(/^acme 0 allowed, [1-9]/);
  browser = await chromium.launch({ executablePath: findChromium(), args: CHROMIUM_ARGS });
  const viewport = { width: 960, height: 640 };
  const context = await browser.newContext({ httpCredentials: { username: 'ada', password: TOKEN }, viewport });
  page = await context.newPage();
  await page.goto(`${url}/limits/`);
});

after(async () => {
  await browser?.close();
  example?.kill();
});

/** The first group of a line that comes from now on, or was printed before. */
async function untilPrinted(pattern, from = 0) {
  for (;;) {
    const found = printed.slice(from).find((line) => pattern.test(line));
    if (found !== undefined) return pattern.exec(found)[1];
    assert.equal(example.exitCode, null, 'the example has ended');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function click(name, within = page) {
  clicks++;
  await within.getByRole('button', { name }).first().click();
}

async function picture(name) {
  if (pictures !== undefined) await page.screenshot({ path: join(pictures, `incident-${name}.png`) });
}

/** Does a task, which has to be a few clicks, and reports how long it has taken until its effect is seen. */
function task(name, most, act) {
  test(`${name}, in at most ${most} clicks`, async (context) => {
    clicks = 0;
    const startMs = performance.now();
    await act();
    const seconds = ((performance.now() - startMs) / 1000).toFixed(1);
    context.diagnostic(`${name}: ${clicks} ${clicks === 1 ? 'click' : 'clicks'}, ${seconds} s`);
    assert.ok(clicks <= most, `${clicks} clicks`);
  });
}

task('who is denied, and why', 1, async () => {
  await page.getByRole('button', { name: 'acme' }).first().waitFor();
  await picture('1-who');
  await click('acme');
  await page.getByText(/of 20 in these 10 seconds/).waitFor();
  await picture('2-why');
});

task('one customer has twice the limit', 3, async () => {
  await click('Another limit for this key …');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('limit').fill('200');
  await dialog.getByLabel('Reason').fill('their launch');
  await click('Compare', dialog);
  await dialog.getByText('slidingWindow 200 per 10s').waitFor();
  await picture('3-compare');
  await click('Set override now', dialog);
  await page.getByText(/^Override of orders: slidingWindow 200 per 10s until/).waitFor();
  await picture('4-it-holds');
  await untilPrinted(/^acme [1-9]\d* allowed, 0 denied/, printed.length);
});

task('a limit is raised', 4, async () => {
  await click('Show managed policies');
  await click('Change orders …');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('limit').fill('40');
  await dialog.getByLabel('Reason').fill('the servers have room');
  await click('Compare', dialog);
  await dialog.getByText('slidingWindow 40 per 10s').waitFor();
  await picture('5-raise');
  await click('Change orders now', dialog);
  await page.getByRole('region', { name: 'Managed policies' }).getByText('slidingWindow 40 per 10s').waitFor();
});

task('a client is blocked', 2, async () => {
  await click('Block …');
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill('a script that runs wild');
  await picture('6-block');
  await click('Block', dialog);
  await page.getByText(/^Blocked until/).waitFor();
  await untilPrinted(/^acme 0 allowed, [1-9]/, printed.length);
  await page.getByText('What happened last').scrollIntoViewIfNeeded();
  await page.getByText(/ada: block acme of orders/).waitFor();
  await picture('7-what-happened');
});
