// A page of each kind, on a desk and on a phone: what axe-core says, what it weighs, and whether it moves while it loads.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { violationsIn } from '../../scripts/setup/chromium.mjs';
import { DESKTOP, LINK, PHONE, openSite } from './browser.mjs';

const KINDS = [
  ...['/', '/documents', '/guides/which-policy', '/reference/options', '/reference/errors'],
  ...['/reference/api/', '/reference/api/@sluice/core/'],
  ...['/reference/api/@sluice/core/interfaces/Limiter', '/packages/express', '/benchmarks', '/playground', LINK],
  ...['/contribute/architecture', '/adr/', '/changelog', '/no-such-page'],
];
/** VitePress's own search button, whose name is not what is seen. */
const VITEPRESS = '.DocSearch-Button';
/** Bytes over the network, all of the page read. */
const MAX_BYTES = { '/': 150_000, '/playground': 250_000, [LINK]: 250_000 };
/** VitePress moves the bar above a page by 0.0154 when its script has run. */
const MAX_SHIFT = 0.016;

let site;
before(async () => (site = await openSite()));
after(() => site?.close());

/** Opens a page with nothing in the cache, and scrolls to its end. */
async function read(address, options) {
  const { page, said, close } = await site.tab(options);
  await page.addInitScript(() => {
    globalThis.shift = 0;
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shift += value;
    }).observe({ type: 'layout-shift', buffered: true });
  });
  let bytes = 0;
  const protocol = await page.context().newCDPSession(page);
  await protocol.send('Network.enable');
  protocol.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
  await page.goto(site.origin + address, { waitUntil: 'networkidle' });
  await page.evaluate(async () => {
    for (let top = 0; top < document.body.scrollHeight; top += innerHeight / 2) {
      scrollTo(0, top);
      await new Promise(requestAnimationFrame);
    }
  });
  await page.waitForLoadState('networkidle');
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  const shift = await page.evaluate(() => globalThis.shift);
  const found = await violationsIn(page, { exclude: [VITEPRESS] });
  await close();
  return { bytes, shift, width, found: [...found, ...said.filter((line) => !line.includes('404'))] };
}

for (const [device, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
  for (const colorScheme of ['light', 'dark']) {
    test(`all can use each kind of page, on a ${device}, ${colorScheme}`, async (t) => {
      const wrong = [];
      for (const address of KINDS) {
        const { bytes, shift, width, found } = await read(address, { viewport, colorScheme });
        const max = MAX_BYTES[address] ?? Infinity;
        if (max < Infinity) t.diagnostic(`${address.slice(0, 12)}: ${(bytes / 1000).toFixed(1)} kB`);
        if (bytes < 10_000 || bytes > max) wrong.push(`${address} takes ${bytes} bytes`);
        if (shift > MAX_SHIFT) wrong.push(`${address} moves by ${shift}`);
        if (width > viewport.width) wrong.push(`${address} is ${width} wide`);
        wrong.push(...found.map((one) => `${address} ${one}`));
      }

      assert.deepEqual(wrong, []);
    });
  }
}
