// axe-core on a page of each kind: dark and light, on a desk and on a phone.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { DESKTOP, PHONE, Site } from './browser.mjs';
import { KINDS } from './kinds.mjs';

const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

let site;
before(async () => (site = await Site.open()));
after(() => site?.close());

/** What axe-core finds: rule, element, and why. */
async function violations(page) {
  await page.addScriptTag({ path: axe });
  const found = await page.evaluate(async () => (await globalThis.axe.run()).violations);
  return found.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${page.url()} ${id} ${target.join(' ')}: ${failureSummary}`),
  );
}

for (const colorScheme of ['light', 'dark']) {
  for (const [device, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
    test(`axe finds nothing on any kind of page, ${colorScheme}, on a ${device}`, async () => {
      const { page, close } = await site.tab({ viewport, colorScheme });
      const found = [];
      for (const address of [...KINDS, '/no-such-page']) {
        await page.goto(site.origin + address, { waitUntil: 'networkidle' });
        found.push(...(await violations(page)));
      }

      assert.deepEqual(found, []);
      await close();
    });

    test(`axe finds nothing while a search is open, ${colorScheme}, on a ${device}`, async () => {
      const { page, close } = await site.tab({ viewport, colorScheme });
      await page.goto(site.origin, { waitUntil: 'networkidle' });
      await page.keyboard.press('Control+k');
      await page.fill('#localsearch-input', 'token bucket');
      await page.waitForSelector('#localsearch-list a[role=option]');

      assert.deepEqual(await violations(page), []);
      await close();
    });
  }
}
