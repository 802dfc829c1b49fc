// Opens the HTML report of `sluice simulate` in a real Chromium: without a network, with the keyboard, on a phone, dark and
// light. Run `npm run build` first.
//
//   node packages/cli/scripts/test-page.mjs [FOLDER]    screenshots go to FOLDER
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { listen, openChromium } from '../../../scripts/setup/chromium.mjs';

const SLUICE = fileURLToPath(new URL('../dist/main.js', import.meta.url));
const [shots] = process.argv.slice(2);
const ATTACK = '<img src=x onerror=alert(1)>';

const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
const browser = await openChromium();
try {
  const { html, suggestion } = makeReport();
  for (const width of [1280, 390]) {
    const page = await browser.newPage({ viewport: { width, height: 800 } });
    const requests = [];
    page.on('request', (request) => requests.push(request.url()));
    const errors = [];
    listen(page, errors);
    await page.goto(pathToFileURL(html).href);
    const figure = () => page.locator('#clients').textContent();
    const before = await figure();
    assert.equal(await page.locator('#policy').textContent(), suggestion.policy);
    await page.locator('#limit').focus();
    for (let i = 0; i < 5; i++) await page.keyboard.press('ArrowLeft');
    assert.notEqual(await figure(), before, 'a smaller limit denies more clients');
    assert.ok((await page.locator('#report').textContent()).includes(ATTACK), 'texts of the log stand as they are');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
    assert.ok(overflow <= 0, `nothing is wider than ${width} px`);
    if (shots !== undefined) await page.screenshot({ path: join(shots, `simulate-${width}.png`), fullPage: true });
    const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const light = await ground();
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.notEqual(await ground(), light, 'dark, where the system is');
    assert.deepEqual(
      [requests.filter((url) => !url.startsWith('file:') && !url.startsWith('data:')), errors],
      [[], []],
    );
    await page.close();
    console.log(`passed: ${width} px`);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

function makeReport() {
  const lines = Array.from({ length: 5000 }, (_, i) => {
    const second = String(Math.floor(i / 100)).padStart(2, '0');
    const address = `10.0.0.${Math.floor((i * 7919) % 251 ** (1 + (i % 2) / 2)) % 251}`;
    return `${address} - - [17/May/2026:10:05:${second} +0000] "GET /a?${i} HTTP/1.1" 200 5 "-" "${ATTACK}"\n`;
  });
  const [log, html] = ['access.log', 'report.html'].map((name) => join(folder, name));
  writeFileSync(log, lines.join(''));
  const args = [SLUICE, 'simulate', log, '--html', html, '--json', '--policy', 'fixedWindow --limit 10 --window 1m'];
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8', maxBuffer: 2 ** 28 });
  assert.equal(status, 0, stderr);
  assert.doesNotMatch(readFileSync(html, 'utf8'), /<img/);
  return { html, suggestion: JSON.parse(stdout).suggestions[1] };
}
