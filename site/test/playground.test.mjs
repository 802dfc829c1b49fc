// The playground in a real browser: by mouse, by finger, by keyboard; what it weighs, and whether all can use it.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, test } from 'node:test';
import { DESKTOP, PHONE, Site } from './browser.mjs';

const MOST_BYTES = 250_000;
const SHIFT = 0.01;
const axe = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
/** A state that has nothing of the first one: two policies, two clients, another format and framework. */
const LINK =
  '/playground#v=1&p=fixedWindow*a*limit*5*window*10s*align*clock&p=leakyBucket*b*limit*10*window*10s*maxDelay*2s&span=30s&bars=0005.00000a&runs=1s&key=ip&store=redis&headers=draft-6&in=koa&client=1&at=5';

let site;
before(async () => (site = await Site.open()));
after(() => site?.close());

/** Opens the playground, and waits until it works. */
async function open(options = {}, address = '/playground') {
  const { page, said, close } = await site.tab(options);
  await page.goto(site.origin + address, { waitUntil: 'networkidle' });
  await page.waitForSelector('.playground.ready');
  return {
    page,
    bars: page.locator('.bars').first(),
    /** The number before a word, such as `allowed`. */
    count: async (word) => Number(await page.locator('.totals .number', { hasText: word }).locator('b').innerText()),
    reload: async () => {
      await page.reload({ waitUntil: 'networkidle' });
      await page.waitForSelector('.playground.ready');
    },
    /** Closes it. Nothing was said on the console, and no other host was asked. */
    done: async () => {
      // A reload cancels the request for the icon if it is under way.
      assert.deepEqual(
        said.filter((line) => !line.endsWith('/icon.svg net::ERR_ABORTED')),
        [],
      );
      await close();
    },
  };
}

/** The heights of a row of bars, in requests. */
const heightsOf = (bars) =>
  bars.evaluate((row) => [...row.children].map((bar) => Number(bar.getAttribute('aria-valuenow'))));

const isOf = (page, text) =>
  page
    .locator('.which')
    .innerText()
    .then((shown) => assert.match(shown, text));
/** The address follows what was done a little later. */
const settled = (page, part) => page.waitForFunction((text) => globalThis.location.hash.includes(text), part);

describe('policies', () => {
  test('each of the eight decides, and its options are checked where they are typed', async () => {
    const { page, count, done } = await open();
    const kind = page.getByLabel('Kind of policy');
    const kinds = await kind.locator('option').evaluateAll((options) => options.map(({ value }) => value));
    assert.equal(kinds.length, 8);

    for (const id of kinds) {
      await kind.selectOption(id);
      await page.getByRole('button', { name: 'Retry storm' }).click();
      assert.ok((await count('denied')) > 0, id);
      const hasRetries = (await page.locator('.totals .number', { hasText: 'retries' }).count()) > 0;
      const retries = hasRetries ? await count('retries') : 0;
      assert.equal((await count('offered')) + retries, (await count('allowed')) + (await count('denied')));
    }

    await kind.selectOption('slidingWindow');
    const allowed = await count('allowed');
    await page.getByLabel('limit', { exact: true }).fill('ten');
    assert.match(await page.locator('.error').innerText(), /^limit must be a whole number .*"ten"/);
    assert.equal(await page.getByLabel('limit', { exact: true }).getAttribute('aria-invalid'), 'true');
    assert.equal(await count('allowed'), allowed);
    await page.getByLabel('limit', { exact: true }).fill('10');
    assert.equal(await page.locator('.error').count(), 0);
    assert.ok((await count('allowed')) < allowed);
    await done();
  });

  test('several are one decision, and each shows what it has left', async () => {
    const { page, count, done } = await open();
    const alone = await count('allowed');

    await page.getByRole('button', { name: 'Add a policy' }).click();

    assert.ok((await count('allowed')) < alone);
    assert.equal(await page.locator('.remaining').count(), 2);
    assert.deepEqual(await page.locator('.request tbody th').allInnerTexts(), ['per-20s', 'burst']);
    assert.match(
      await page.locator('.request .message').innerText(),
      /RateLimit-Policy: "per-20s";q=40;w=20, "burst";q=20;w=10/,
    );
    assert.match(await page.locator('.listing pre').innerText(), /policy: \[\n.*slidingWindow.*\n.*tokenBucket/);
    await page.getByRole('button', { name: 'Remove burst' }).click();
    assert.equal(await count('allowed'), alone);
    await done();
  });
});

describe('traffic', () => {
  test('is drawn with a mouse, in one stroke that can be undone', async () => {
    const { page, bars, done } = await open();
    const before = await heightsOf(bars);
    const { x, y, width, height } = await bars.boundingBox();
    const top = Number(await page.locator('.bars-frame .top').innerText());

    await page.mouse.move(x + width * (30.5 / 60), y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * (35.5 / 60), y + height / 2, { steps: 2 });
    await page.mouse.up();

    assert.deepEqual(await heightsOf(bars), [...before.slice(0, 30), ...Array(6).fill(top / 2), ...before.slice(36)]);
    await page.getByRole('button', { name: 'Undo' }).click();
    assert.deepEqual(await heightsOf(bars), before);
    await done();
  });

  test('is drawn with the keyboard alone', async () => {
    const { page, bars, count, done } = await open();
    await page.getByRole('button', { name: 'Clear' }).click();
    assert.equal(await count('offered'), 0);
    assert.match(await page.locator('.request').innerText(), /No request yet/);

    await page.getByRole('button', { name: 'Undo' }).focus();
    await page.keyboard.press('Tab');
    for (const key of [
      'ArrowUp',
      'ArrowUp',
      'ArrowRight',
      '7',
      'ArrowDown',
      'End',
      'PageUp',
      'ArrowUp',
      'ArrowUp',
      'Home',
    ])
      await page.keyboard.press(key);

    const heights = await heightsOf(bars);
    assert.deepEqual([heights[0], heights[1], heights[59]], [2, 6, 7]);
    assert.equal(await count('offered'), 15);
    assert.equal(
      await page.evaluate(() => globalThis.document.activeElement.getAttribute('aria-valuetext')),
      '2 requests: 2 allowed, 0 denied',
    );
    await done();
  });

  test('is drawn with a finger that moves sideways; one that moves down scrolls', async () => {
    const { page, bars, done } = await open({ viewport: PHONE });
    await bars.scrollIntoViewIfNeeded();
    const before = await heightsOf(bars);
    const { x, y, width, height } = await bars.boundingBox();
    const finger = await page.context().newCDPSession(page);
    const touch = (type, at) =>
      finger.send('Input.dispatchTouchEvent', { type, touchPoints: at === undefined ? [] : [at] });
    const swipe = async (dx, dy) => {
      await touch('touchStart', { x: x + width / 2, y: y + height / 2 });
      for (let i = 1; i <= 10; i++)
        await touch('touchMove', { x: x + width / 2 + (dx * i) / 10, y: y + height / 2 + (dy * i) / 10 });
      await touch('touchEnd');
    };

    const scrolledBefore = await page.evaluate(() => globalThis.scrollY);
    await swipe(0, -60);
    await page.waitForFunction((from) => globalThis.scrollY > from, scrolledBefore);
    assert.deepEqual(await heightsOf(bars), before);
    await page.evaluate((to) => globalThis.scrollTo(0, to), scrolledBefore);

    await swipe(width / 4, 0);
    assert.ok((await heightsOf(bars)).slice(32, 44).every((count) => count >= 5));
    await done();
  });

  test('has presets, and several clients that are limited one by one or together', async () => {
    const { page, count, done } = await open();
    for (const name of ['Steady', 'Burst', 'Window-edge attack', 'Retry storm', 'Several clients']) {
      await page.getByRole('button', { name }).click();
      assert.ok((await count('offered')) > 50, name);
    }
    assert.equal(await page.locator('.row').count(), 3);
    assert.match(await page.locator('.which').innerText(), /Client B/);
    const oneByOne = await count('allowed');

    await page.getByLabel('Limit by').selectOption('all');
    assert.ok((await count('allowed')) < oneByOne);
    await page.getByRole('button', { name: 'Remove Client B' }).click();
    assert.equal(await page.locator('.row').count(), 2);
    await done();
  });

  test('is pasted, as times or as an access log, and what cannot be read is told of', async () => {
    const { page, count, reload, done } = await open();
    await page.getByRole('button', { name: 'Paste…' }).click();
    await page.getByLabel('Requests', { exact: true }).fill('0 alice\n0.5 30 alice\nnever\n1 30 alice\n1 bob');
    await page.getByRole('button', { name: 'Replay', exact: true }).click();
    assert.match(await page.locator('.notes').innerText(), /One line could not be read, such as “never”/);
    await page.getByRole('button', { name: 'Replay what could be read' }).click();

    assert.deepEqual([await count('offered'), await count('denied')], [4, 1]);
    assert.deepEqual(await page.locator('.row-name').allInnerTexts(), ['alice', 'bob']);
    await settled(page, 'log=');
    await reload();
    assert.deepEqual([await count('offered'), await count('denied')], [4, 1]);

    await page.getByRole('button', { name: 'Paste…' }).click();
    const line = '203.0.113.9 - - [24/Nov/2026:08:00:01 +0000] "GET / HTTP/1.1" 200 512 "-" "curl"\n';
    await page.getByLabel('Requests', { exact: true }).fill(line.repeat(50));
    await page.getByRole('button', { name: /^Replay/ }).click();
    await page.getByRole('button', { name: /^Replay/ }).click();
    assert.deepEqual([await count('allowed'), await count('denied')], [40, 10]);
    await done();
  });

  test('of megabytes is pasted up to a length that a browser shows', async () => {
    const { page, count, done } = await open();
    await page.getByRole('button', { name: 'Paste…' }).click();
    const field = page.getByLabel('Requests', { exact: true });
    await field.evaluate((element) => {
      const clipboardData = new globalThis.DataTransfer();
      clipboardData.setData('text/plain', `0 1 ${'a'.repeat(1_000)}\n`.repeat(5_000));
      element.dispatchEvent(new globalThis.ClipboardEvent('paste', { clipboardData, cancelable: true }));
    });

    assert.equal((await field.inputValue()).length, 1_005 * 995);
    await page.getByRole('button', { name: /^Replay/ }).click();
    assert.match(
      await page.locator('.notes').innerText(),
      /^The first 995 requests are shown, and 4005 lines after them left out; sluice simulate replays whole logs\.$/,
    );
    await page.getByRole('button', { name: /^Replay/ }).click();
    assert.equal(await count('offered'), 995);

    await page.getByRole('button', { name: 'Paste…' }).click();
    await field.fill('0 1 alice');
    await page.getByRole('button', { name: /^Replay/ }).click();
    assert.equal(await count('offered'), 1);
    await done();
  });
});

describe('denied requests', () => {
  test('come back when they are told to, and what was drawn stays as it is', async () => {
    const { page, bars, count, reload, done } = await open();
    const [drawn, denied] = [await heightsOf(bars), await count('denied')];
    const retries = page.getByLabel('Denied requests');
    assert.equal(await retries.inputValue(), 'none');

    await retries.selectOption('after');

    assert.ok((await count('retries')) > 0);
    assert.ok((await count('denied')) >= denied);
    assert.equal(await count('offered'), 147);
    assert.deepEqual(await heightsOf(bars), drawn);
    assert.ok((await page.locator('.bar .painted').count()) > 0);
    await settled(page, 'retry=after');
    await reload();
    assert.equal(await retries.inputValue(), 'after');
    await page.getByRole('button', { name: 'Next denied' }).click();

    // The bar that a key changes is what was drawn, and not what came back on it.
    const at = drawn.length - 1;
    await bars.locator('.bar').nth(at).focus();
    await page.keyboard.press('ArrowUp');
    assert.equal((await heightsOf(bars))[at], drawn[at] + 1);
    await done();
  });

  test('of a storm follow from what was denied', async () => {
    const { page, bars, count, done } = await open();

    await page.getByRole('button', { name: 'Retry storm' }).click();

    assert.equal(await page.getByLabel('Denied requests').inputValue(), 'backoff');
    const offered = await count('offered');
    const stormy = await count('denied');
    await page.getByLabel('Denied requests').selectOption('none');
    assert.equal(await count('offered'), offered);
    assert.ok((await count('denied')) < stormy);
    assert.equal(await page.locator('.bar .painted').count(), 0);
    await page.getByRole('button', { name: 'Undo' }).click();
    assert.equal(await count('denied'), stormy);
    assert.ok((await heightsOf(bars))[10] > 0);
    await done();
  });
});

describe('one request', () => {
  test('is chosen by a click, by arrows and by buttons, with its response in every format', async () => {
    const { page, done } = await open();
    await isOf(page, /denied\s*Request 41 of 147, Client A at 14.5 s/);
    assert.equal(await page.getByLabel('Span').inputValue(), '60000');
    assert.match(
      await page.locator('.request .message').innerText(),
      /^HTTP\/1.1 429 .*\nRateLimit-Policy: "default";q=40;w=20\n/,
    );
    assert.match(await page.locator('.request .message').innerText(), /\nRetry-After: 8\n/);

    const strip = page.getByRole('slider', { name: 'Requests of Client A' });
    const { x, y, width, height } = await strip.boundingBox();
    await page.mouse.click(x + width * (1.5 / 60), y + height / 2);
    await isOf(page, /allowed\s*Request 1 of 147, Client A at 1.5 s/);
    assert.equal(
      await page.locator('.request .message').innerText(),
      'HTTP/1.1 200 OK\nRateLimit-Policy: "default";q=40;w=20\nRateLimit: "default";r=39;t=20',
    );
    await page.keyboard.press('ArrowRight');
    await isOf(page, /Request 2 of 147/);
    assert.match(await strip.getAttribute('aria-valuetext'), /^request 2 of 147, at .*: allowed$/);
    await page.getByRole('button', { name: 'Next denied' }).click();
    await isOf(page, /denied\s*Request 41 of 147/);

    for (const [format, field] of [
      ['draft 7', /^RateLimit: limit=40, remaining=0, reset=20$/m],
      ['draft 6', /^RateLimit-Reset: 20$/m],
      ['X-RateLimit, epoch', /^X-RateLimit-Reset: 1767225635$/m],
      ['X-RateLimit, delta', /^X-RateLimit-Reset: 20$/m],
    ]) {
      await page.getByLabel(format).check({ force: true });
      assert.match(await page.locator('.request .message').innerText(), field);
    }
    assert.match(await page.locator('.listing pre').innerText(), /headers: \{ legacy: 'delta' \}/);
    await done();
  });
});

describe('the code', () => {
  test('is shown for each framework, and copied', async () => {
    const { page, done } = await open();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    for (const [name, start] of [
      ['Express', "import express from 'express';"],
      ['Fastify', "import Fastify from 'fastify';"],
      ['Koa', "import Koa from 'koa';"],
      ['NestJS', "import 'reflect-metadata';"],
      ['Fetch', "import { serve } from '@hono/node-server';"],
      ['Hono', "import { serve } from '@hono/node-server';"],
      ['Core', "import { createServer } from 'node:http';"],
    ]) {
      await page.getByLabel(name, { exact: true }).check({ force: true });
      const code = await page.locator('.listing pre').innerText();
      assert.ok(code.startsWith(start), name);
      await page.getByRole('button', { name: 'Copy code' }).click();
      assert.equal((await page.evaluate(() => globalThis.navigator.clipboard.readText())).trim(), code.trim());
    }
    await done();
  });
});

describe('a link', () => {
  test('is copied, and another reader sees the same; so does one who reloads', async () => {
    const first = await open();
    await first.page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await first.page.getByLabel('Kind of policy').selectOption('tokenBucket');
    await first.page.getByRole('button', { name: 'Several clients' }).click();
    await first.page.getByLabel('Fastify', { exact: true }).check({ force: true });
    await first.page.getByRole('button', { name: 'Next denied' }).click();
    await first.page.getByRole('button', { name: 'Copy link' }).click();
    await first.page.getByText('Link copied').waitFor();
    const link = await first.page.evaluate(() => globalThis.navigator.clipboard.readText());
    const seen = (page) =>
      page.locator('.playground').evaluate((all) => all.innerText.replace('Link copied', '').replace(/\s+/g, ' '));
    const shown = (await seen(first.page)).trim();

    const second = await open({ viewport: DESKTOP }, link.slice(site.origin.length));
    assert.equal((await seen(second.page)).trim(), shown);
    await second.done();
    await settled(first.page, 'in=fastify');
    await first.reload();
    assert.equal((await seen(first.page)).trim(), shown);
    await first.done();
  });

  test('opened in the same tab takes its place', async () => {
    const { page, count, done } = await open();

    await page.evaluate((hash) => (globalThis.location.hash = hash), LINK.slice(LINK.indexOf('#')));

    await page.getByText('Client B').first().waitFor();
    assert.equal(await count('offered'), 15);
    await done();
  });

  test('that is hostile harms nothing: text stays text, numbers are checked, and the page answers', async () => {
    const bars = Array(4).fill('O'.repeat(60)).join('.');
    for (const [fragment, offered] of [
      ["v=1&p=slidingWindow*');alert(1)//*limit*NaN*window*Infinity&bars=5&at=NaN&client=-1&span=1m&runs=1s", 5],
      ['v=1&p=__proto__*constructor&in=__proto__&key=toString&bars=%E0%A4%A', 147],
      ['v=1&p=slidingWindow**limit*1*window*1s&span=1d&log=1_0.1_1&keys=<img src=x onerror=alert(1)>*%3Cscript%3E', 2],
      [
        `v=1&p=slidingLog**limit*999999*window*1d&p=concurrency*b*limit*9999999*ttl*1d&span=1d&bars=${bars}&retry=backoff&cost=1000000&runs=1d&at=999999999`,
        12_000,
      ],
    ]) {
      const { page, count, done } = await open({}, `/playground#${fragment}`);
      page.on('dialog', () => assert.fail('a text was run'));
      assert.equal(await count('offered'), offered, fragment);
      assert.equal(await page.locator('.playground img, .playground script').count(), 0);
      await page.getByRole('button', { name: 'Burst' }).click();
      assert.ok((await count('offered')) > 0);
      await done();
    }
  });

  test('that is wrong says so, and the page works', async () => {
    const { page, count, done } = await open({}, '/playground#v=1&p=shoeBox*x*y&bars=zz-!&in=koa');

    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [
      'The policies of this link could not be read.',
      'The traffic of this link could not be read.',
    ]);
    assert.equal(await count('offered'), 147);
    await done();
  });
});

for (const [device, viewport] of Object.entries({ desk: DESKTOP, phone: PHONE })) {
  describe(`on a ${device}`, () => {
    for (const colorScheme of ['light', 'dark']) {
      test(`axe finds nothing, ${colorScheme}: at first, with a long link, with a mistake, with the dialog open`, async () => {
        const { page, done } = await open({ viewport, colorScheme });
        const found = [];
        const look = async (state) => {
          if (!(await page.evaluate(() => 'axe' in globalThis))) await page.addScriptTag({ path: axe });
          // What all pages have is tested on a page of each kind, of which this is one.
          const { violations } = await page.evaluate(() => globalThis.axe.run({ exclude: ['.VPNav'] }));
          for (const { id, nodes } of violations)
            for (const { target, failureSummary } of nodes)
              found.push(`${state}: ${id} ${target.join(' ')} ${failureSummary}`);
        };

        await look('at first');
        await page.goto(site.origin + LINK, { waitUntil: 'networkidle' });
        await look('link');
        await page.getByLabel('limit', { exact: true }).first().fill('many');
        await page.locator('.error').waitFor();
        await look('mistake');
        await page.getByRole('button', { name: 'Paste…' }).click();
        await look('dialog');

        assert.deepEqual(found, []);
        await done();
      });
    }

    test('nothing is wider than the screen', async () => {
      const { page, done } = await open({ viewport }, LINK);

      assert.equal(await page.evaluate(() => globalThis.document.documentElement.scrollWidth), viewport.width);
      await done();
    });

    for (const [what, address] of Object.entries({ 'the page': '/playground', 'a link': LINK })) {
      test(`${what} takes at most ${MOST_BYTES / 1000} kB, and does not move while it loads`, async (t) => {
        const { page, close } = await site.tab({ viewport });
        await page.addInitScript(() => {
          globalThis.shift = 0;
          new globalThis.PerformanceObserver((list) => {
            for (const { value, hadRecentInput } of list.getEntries()) if (!hadRecentInput) globalThis.shift += value;
          }).observe({ type: 'layout-shift', buffered: true });
        });
        let bytes = 0;
        const network = await page.context().newCDPSession(page);
        await network.send('Network.enable');
        network.on('Network.loadingFinished', ({ encodedDataLength }) => (bytes += encodedDataLength));
        await page.goto(site.origin + address, { waitUntil: 'networkidle' });
        await page.waitForSelector('.playground.ready');
        await page.waitForTimeout(300);

        const shift = await page.evaluate(() => globalThis.shift);
        t.diagnostic(`${(bytes / 1000).toFixed(1)} kB, moved by ${shift}`);
        assert.ok(bytes > 10_000 && bytes <= MOST_BYTES, `${bytes} bytes`);
        assert.ok(shift <= SHIFT, `moved by ${shift}`);
        await close();
      });
    }
  });
}
