// What pages may cost: bytes over the network, and movement while they load.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { DESKTOP, PHONE, Site } from './browser.mjs';
import { KINDS } from './kinds.mjs';

const FIRST_PAGE_BYTES = 97_000;
const SHIFT = 0.01;

let site;
before(async () => (site = await Site.open()));
after(() => site?.close());

/**
 * Opens a page with nothing in the cache, and scrolls to its end: the bytes it received, and how far its parts moved.
 */
async function costOf(address, viewport) {
  const { page, said, close } = await site.tab({ viewport });
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
  const shift = await page.evaluate(() => globalThis.shift);
  await close();
  assert.deepEqual(said, []);
  return { bytes, shift };
}

for (const [device, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
  test(`the first page takes at most ${FIRST_PAGE_BYTES / 1000} kB, all of it read, on a ${device}`, async (t) => {
    const { bytes } = await costOf('/', viewport);

    t.diagnostic(`${(bytes / 1000).toFixed(1)} kB`);
    assert.ok(bytes > 10_000 && bytes <= FIRST_PAGE_BYTES, `${bytes} bytes`);
  });

  test(`no kind of page moves while it loads, on a ${device}`, async (t) => {
    const moved = [];
    let most = 0;
    for (const address of KINDS) {
      const { shift } = await costOf(address, viewport);
      most = Math.max(most, shift);
      if (shift > SHIFT) moved.push(`${address} ${shift}`);
    }

    t.diagnostic(`at most ${most}`);
    assert.deepEqual(moved, []);
  });
}
