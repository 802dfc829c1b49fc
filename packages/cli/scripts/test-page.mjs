// Opens the HTML report of `sluice simulate` in a real Chromium: without a network, with the keyboard, on a phone, dark and
// light. Run `npm run build` first.
//
//   node packages/simulate/scripts/test-page.mjs [FOLDER]    screenshots go to FOLDER
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';
import { CHROMIUM_ARGS, findChromium } from '../../../scripts/setup/find-chromium.mjs';
import { writeLog } from './generate-log.mjs';

const SLUICE = fileURLToPath(new URL('../../cli/dist/main.js', import.meta.url));
const [shots] = process.argv.slice(2);

const folder = mkdtempSync(join(tmpdir(), 'sluice-page-'));
const browser = await chromium.launch({ executablePath: findChromium(), args: CHROMIUM_ARGS });
try {
  const report = await makeReport();
  for (const [name, run] of Object.entries({
    usesNoNetwork,
    followsTheSlider,
    sortsClients,
    fitsAPhone,
    isDarkAndLight,
    namesItsRegions,
    escapesTexts,
    hasTheWindowsOfCandidates,
    saysThatThereAreNoRequests,
  })) {
    await run(report);
    console.log(`passed: ${name}`);
  }
} finally {
  await browser.close();
  rmSync(folder, { recursive: true, force: true });
}

async function makeReport() {
  const log = join(folder, 'access.log');
  await writeLog(log, { lines: 60_000, seconds: 7200, seed: 3 });
  const html = join(folder, 'report.html');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      ...[SLUICE, 'simulate', log, '--html', html, '--json'],
      ...[
        '--policy',
        'fixedWindow --limit 20 --window 1m',
        '--policy',
        'tokenBucket --capacity 10 --refill 1 --every 1s + fixedWindow --limit 400 --window 1m --key all',
      ],
    ],
    { encoding: 'utf8', maxBuffer: 2 ** 28 },
  );
  assert.equal(status, 0, stderr);
  return { url: pathToFileURL(html).href, json: JSON.parse(stdout), size: readFileSync(html).length };
}

/** A page that has asked for nothing but its file, and has written no error. */
async function open(url, { shows = '#clients tbody tr', ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1200, height: 900 }, ...options });
  const page = await context.newPage();
  const requests = [];
  const problems = [];
  page.on('request', (request) => requests.push(request.url()));
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && problems.push(message.text()));
  page.on('pageerror', (error) => problems.push(error.message));
  await page.goto(url);
  await page.waitForSelector(shows);
  return { page, requests, problems, close: () => context.close() };
}

async function shoot(page, name) {
  if (shots !== undefined) await page.screenshot({ path: join(shots, `${name}.png`), fullPage: true });
}

async function usesNoNetwork({ url, size }) {
  const { page, requests, problems, close } = await open(url, { offline: true });
  assert.deepEqual(
    requests.filter((one) => !one.startsWith('data:')),
    [url],
  );
  assert.deepEqual(problems, []);
  assert.ok(size < 3_000_000, `the report has ${size} bytes`);
  await shoot(page, 'desktop');
  await close();
}

async function followsTheSlider({ url, json }) {
  const { page, close } = await open(url);
  const text = (selector) => page.locator(selector).textContent();
  const suggested = json.suggestions.windows[1];
  assert.equal(await text('#limit-value'), `${suggested.limit} in 1m`);
  assert.match(await text('#figures'), new RegExp(`Requests denied${suggested.denied.toLocaleString('en-US')} `));
  // The keyboard alone: to the slider, and to the lowest limit but one.
  await page.locator('#limit').focus();
  await page.keyboard.press('Home');
  await page.keyboard.press('ArrowRight');
  assert.equal(await text('#limit-value'), '2 in 1m');
  assert.equal(await page.locator('#limit').getAttribute('aria-valuetext'), '2 in 1m');
  const before = await page.locator('#over-time rect.denied').count();
  await page.keyboard.press('End');
  assert.match(await text('#figures'), /Requests denied0 /);
  assert.ok(before > 0 && (await page.locator('#over-time rect.denied').count()) === 0);
  // A candidate shows its own denials.
  await page.getByRole('radio').nth(3).check();
  assert.match(
    await text('#figures'),
    new RegExp(`Requests denied${json.candidates[0].denied.toLocaleString('en-US')} `),
  );
  assert.equal(await page.locator('#slider').isHidden(), true);
  // The curve at the candidate's limit says what the candidate did.
  await page.getByRole('radio').nth(1).check();
  await page.locator('#limit').focus();
  await page.keyboard.press('Home');
  for (let i = 1; i < 20; i++) await page.keyboard.press('ArrowRight');
  assert.equal(await text('#limit-value'), '20 in 1m');
  assert.match(
    await text('#figures'),
    new RegExp(`Requests denied${json.candidates[0].denied.toLocaleString('en-US')} `),
  );
  await close();
}

async function sortsClients({ url }) {
  const { page, close } = await open(url);
  const column = async (n) =>
    (await page.locator(`#clients tbody tr > :nth-child(${n})`).allTextContents()).map((one) =>
      Number(one.replaceAll(',', '')),
    );
  const isFalling = (values) => values.every((value, i) => i === 0 || value <= values[i - 1]);
  assert.ok(isFalling(await column(3)), 'sorted by denials at first');
  await page.locator('#clients th[data-column="requests"] button').focus();
  await page.keyboard.press('Enter');
  assert.ok(isFalling(await column(2)));
  assert.equal(await page.locator('#clients th[data-column="requests"]').getAttribute('aria-sort'), 'descending');
  await page.keyboard.press('Enter');
  assert.ok(isFalling((await column(2)).reverse()));
  const first = await page.locator('#clients tbody th').first().textContent();
  await page.locator('#filter').fill(first);
  assert.ok((await page.locator('#clients tbody th').allTextContents()).every((one) => one.includes(first)));
  await close();
}

async function fitsAPhone({ url }) {
  const { page, problems, close } = await open(url, {
    viewport: { width: 360, height: 740 },
    isMobile: true,
    hasTouch: true,
  });
  const width = await page.evaluate('document.documentElement.scrollWidth');
  assert.ok(width <= 360, `the page is ${width} pixels wide`);
  const slider = await page.locator('#limit').boundingBox();
  assert.ok(slider.height >= 24 && slider.width >= 250);
  const denied = await page.locator('#clients th[data-column="denied"]').boundingBox();
  assert.ok(denied.x + denied.width <= 360, 'what a client is denied is in sight');
  assert.deepEqual(problems, []);
  await shoot(page, 'phone');
  await close();
}

async function isDarkAndLight({ url }) {
  for (const colorScheme of ['light', 'dark']) {
    const { page, close } = await open(url, { colorScheme });
    const light = async () => {
      const color = await page.evaluate('getComputedStyle(document.body).backgroundColor');
      return Number(/\d+/.exec(color)[0]) > 128;
    };
    assert.equal(await light(), colorScheme === 'light');
    await page.locator('#theme').click();
    assert.equal(await light(), colorScheme === 'dark');
    if (colorScheme === 'light') await shoot(page, 'dark');
    await close();
  }
}

/** The report of a log with these flags, by its address. */
function reportOf(name, content, ...flags) {
  const [log, html] = [join(folder, `${name}.log`), join(folder, `${name}.html`)];
  writeFileSync(log, content);
  const { status, stderr } = spawnSync(process.execPath, [SLUICE, 'simulate', log, '--html', html, ...flags], {
    encoding: 'utf8',
  });
  assert.equal(status, 0, stderr);
  return pathToFileURL(html).href;
}

/** What clients write is text, whatever it is, wherever it is shown. */
/** Those who hear the page go from region to region by their names. */
async function namesItsRegions({ url }) {
  const { page, close } = await open(url);
  const names = await page.locator('section, [role=region]').evaluateAll((regions) =>
    regions.map((region) => {
      const title = region.getAttribute('aria-labelledby');
      return title === null
        ? region.getAttribute('aria-label')
        : globalThis.document.getElementById(title)?.textContent;
    }),
  );
  assert.ok(names.length > 5 && !names.includes(null) && !names.includes(undefined));
  assert.deepEqual(new Set(names).size, names.length, names.join(', '));
  await close();
}

async function escapesTexts() {
  const taken =
    '</script><script>document.title = `taken`</script><img src=x onerror=document.title=1>\u2028\u202e<!--';
  const path = '/<img/src=x/onerror=document.title=2>';
  const line = `203.0.113.7 - - [17/May/2026:10:05:03 +0000] "GET ${path} HTTP/1.1" 200 5 "-" "${taken}"\n`;
  const policy = ['--policy', 'fixedWindow --limit 1 --window 1m'];
  for (const key of ['ip', 'user-agent', 'path']) {
    const url = reportOf('hostile', line.repeat(5), ...policy, '--key', key);
    const { page, problems, close } = await open(url);
    assert.equal(await page.title(), 'What a limit would do');
    assert.match(await page.locator('#candidates').textContent(), /<\/script><script>[^]*<!--/);
    // What is not seen, or turns the order of what is around it, is shown as its number.
    assert.match(await page.locator('#candidates').textContent(), /\\u\{2028\}\\u\{202e\}<!--/);
    assert.doesNotMatch(await page.locator('main').textContent(), /[\u2028\u202e]/);
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  }
}

async function hasTheWindowsOfCandidates() {
  const line = (minute) => `203.0.113.7 - - [17/May/2026:10:0${minute}:03 +0000] "GET / HTTP/1.1" 200 5 "-" "-"\n`;
  const log = [0, 1, 2, 3].map(line).join('');
  const { page, problems, close } = await open(
    reportOf('windows', log, '--policy', 'slidingWindow --limit 3 --window 5m'),
  );
  assert.match(await page.locator('#slider-note').textContent(), /fixed windows by ip .* windows of the candidates/);
  await page.getByLabel('in 5m, fixed window').check();
  await page.locator('#limit').focus();
  await page.keyboard.press('Home');
  assert.match(await page.locator('#figures').textContent(), /Requests denied3 .*fixedWindow --limit 1 --window 5m/);
  assert.deepEqual(problems, []);
  await close();
}

async function saysThatThereAreNoRequests() {
  const { page, problems, close } = await open(reportOf('empty', ''), { shows: '#summary' });
  assert.match(await page.locator('#summary').textContent(), /^No requests in .*empty\.log\.$/);
  assert.equal(await page.locator('main section:visible').count(), 0);
  assert.deepEqual(problems, []);
  await close();
}
