// The playground in a real browser: by mouse, by finger, by keyboard.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { LINK, PHONE, openSite } from './browser.mjs';

let site;
before(async () => (site = await openSite()));
after(() => site?.close());

/** Opens the playground, and waits until it works. */
async function open(options = {}, address = '/playground') {
  const { page, said, close } = await site.tab(options);
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.goto(site.origin + address, { waitUntil: 'networkidle' });
  await page.waitForSelector('.playground.ready');
  const numbers = page.locator('.totals .number');
  return {
    page,
    press: (name, exact = false) => page.getByRole('button', { name, exact }).click(),
    bars: page.locator('.bars').first(),
    which: page.locator('.which'),
    message: page.locator('.request pre'),
    code: page.locator('.program pre'),
    /** The number before a word, such as `allowed`; 0 where it is not shown. */
    count: async (word) => {
      const number = numbers.filter({ hasText: word });
      return (await number.count()) === 0 ? 0 : Number(await number.locator('b').innerText());
    },
    /** The address follows what was done a little later. */
    reload: async (part) => {
      await page.waitForFunction((text) => globalThis.location.hash.includes(text), part);
      await page.reload({ waitUntil: 'networkidle' });
      await page.waitForSelector('.playground.ready');
    },
    pasted: () => page.evaluate(() => globalThis.navigator.clipboard.readText()),
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

describe('policies', () => {
  test('are chosen, and their options are checked where they are typed', async () => {
    const { page, count, press, done } = await open();
    const kind = page.getByLabel('Kind of policy');
    assert.equal(await kind.locator('option').count(), 8);
    await kind.selectOption('concurrency');
    await press('Retry storm');
    assert.ok((await count('denied')) > 0);
    await kind.selectOption('slidingWindow');
    const allowed = await count('allowed');
    const limit = page.getByLabel('limit', { exact: true });
    await limit.fill('ten');
    assert.match(await page.locator('.error').innerText(), /^limit must be a whole number .*"ten"/);
    assert.equal(await limit.getAttribute('aria-invalid'), 'true');
    assert.equal(await count('allowed'), allowed);
    await limit.fill('10');
    assert.equal(await page.locator('.error').count(), 0);
    assert.ok((await count('allowed')) < allowed);
    await done();
  });

  test('several are one decision, and each shows what it has left', async () => {
    const { page, count, press, message, code, done } = await open();
    const alone = await count('allowed');
    await press('Add a policy');

    assert.ok((await count('allowed')) < alone);
    assert.equal(await page.locator('.remaining').count(), 2);
    assert.deepEqual(await page.locator('.request tbody th').allInnerTexts(), ['per-20s', 'burst']);
    assert.match(await message.innerText(), /RateLimit-Policy: "per-20s";q=40;w=20, "burst";q=20;w=10/);
    assert.match(await code.innerText(), /policy: \[\n.*slidingWindow.*\n.*tokenBucket/);
    await press('Remove burst');
    assert.equal(await count('allowed'), alone);
    await done();
  });
});

describe('traffic', () => {
  test('is drawn with a mouse, in one stroke that can be undone', async () => {
    const { page, bars, press, done } = await open();
    const before = await heightsOf(bars);
    const { x, y, width, height } = await bars.boundingBox();
    const top = Number(await page.locator('.scale .top').first().innerText());

    await page.mouse.move(x + width * (30.5 / 60), y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * (35.5 / 60), y + height / 2, { steps: 2 });
    await page.mouse.up();

    assert.deepEqual(await heightsOf(bars), [...before.slice(0, 30), ...Array(6).fill(top / 2), ...before.slice(36)]);
    await press('Undo');
    assert.deepEqual(await heightsOf(bars), before);
    await done();
  });

  test('is drawn with the keyboard alone', async () => {
    const { page, bars, count, press, done } = await open();
    await press('Clear');
    assert.match(await page.locator('.request').innerText(), /No request yet/);

    await page.getByRole('button', { name: 'Undo' }).focus();
    const keys = 'Tab ArrowUp ArrowUp ArrowRight 7 ArrowDown End PageUp ArrowUp ArrowUp Home';
    for (const key of keys.split(' ')) await page.keyboard.press(key);

    const heights = await heightsOf(bars);
    assert.deepEqual([heights[0], heights[1], heights[59]], [2, 6, 7]);
    assert.equal(await count('offered'), 15);
    const heard = await page.evaluate(() => globalThis.document.activeElement.getAttribute('aria-valuetext'));
    assert.equal(heard, '2 requests: 2 allowed, 0 denied');
    await done();
  });

  test('is drawn with a finger that moves sideways; one that moves down scrolls', async () => {
    const { page, bars, done } = await open({ viewport: PHONE });
    await bars.scrollIntoViewIfNeeded();
    const before = await heightsOf(bars);
    const { x, y, width, height } = await bars.boundingBox();
    const finger = await page.context().newCDPSession(page);
    const swipe = async (dx, dy) => {
      const touch = (type, ...touchPoints) => finger.send('Input.dispatchTouchEvent', { type, touchPoints });
      await touch('touchStart', { x: x + width / 2, y: y + height / 2 });
      for (let i = 1; i <= 10; i++)
        await touch('touchMove', { x: x + width / 2 + (dx * i) / 10, y: y + height / 2 + (dy * i) / 10 });
      await touch('touchEnd');
    };

    const from = await page.evaluate(() => globalThis.scrollY);
    await swipe(0, -60);
    await page.waitForFunction((top) => globalThis.scrollY > top, from);
    assert.deepEqual(await heightsOf(bars), before);
    await page.evaluate((top) => globalThis.scrollTo(0, top), from);
    await swipe(width / 4, 0);
    assert.ok((await heightsOf(bars)).slice(32, 44).every((height) => height >= 5));
    await done();
  });

  test('has presets, and several clients that are limited one by one or together', async () => {
    const { page, count, press, which, done } = await open();
    for (const name of ['Steady', 'Burst', 'Window-edge attack', 'Several clients']) {
      await press(name);
      assert.ok((await count('offered')) > 50, name);
    }
    assert.equal(await page.locator('.strip').count(), 3);
    assert.match(await which.innerText(), /Client B/);
    const oneByOne = await count('allowed');
    await page.getByLabel('Limit by').selectOption('all');
    assert.ok((await count('allowed')) < oneByOne);
    await press('Remove Client B');
    assert.equal(await page.locator('.strip').count(), 2);
    await press('Add a client');
    assert.equal(await page.locator('.strip').count(), 3);
    await done();
  });

  test('is pasted, and what cannot be read is reported', async () => {
    const { page, count, press, reload, done } = await open();
    const field = page.getByLabel('Requests', { exact: true });
    await press('Paste…');
    await field.fill('0 alice\n0.5 30 alice\nnever\n1 30 alice\n1 bob');
    await press('Replay', true);
    assert.match(await page.locator('.notes').innerText(), /One line could not be read, such as “never”/);
    await press('Replay what could be read');

    const counts = async () => [await count('offered'), await count('allowed'), await count('denied')];
    assert.deepEqual(await counts(), [4, 3, 1]);
    assert.deepEqual(await page.locator('.row-name').allInnerTexts(), ['alice', 'bob']);
    await reload('log=');
    assert.deepEqual(await counts(), [4, 3, 1]);

    await done();
  });
});

test('denied requests come back when they are told to, and what was drawn stays as it is', async () => {
  const { page, bars, count, press, reload, done } = await open();
  const drawn = await heightsOf(bars);
  const retries = page.getByLabel('Denied requests');
  await retries.selectOption('after');

  assert.ok((await count('retries')) > 0);
  assert.equal(await count('offered'), 147);
  assert.deepEqual(await heightsOf(bars), drawn);
  assert.ok((await page.locator('.bar .painted').count()) > 0);
  await reload('retry=after');
  assert.equal(await retries.inputValue(), 'after');

  // The bar that a key changes is what was drawn, and not what came back on it.
  const at = drawn.length - 1;
  await bars.locator('.bar').nth(at).focus();
  await page.keyboard.press('ArrowUp');
  assert.equal((await heightsOf(bars))[at], drawn[at] + 1);
  await press('Retry storm');
  assert.equal(await retries.inputValue(), 'backoff');
  await done();
});

test('one request is chosen by a click, by arrows and by buttons, with its response in the format that is chosen', async () => {
  const { page, press, which, message, code, done } = await open();
  assert.match(await which.innerText(), /denied\s*Request 41 of 147, Client A at 14.5 s/);
  assert.match(
    await message.innerText(),
    /^HTTP\/1.1 429 .*\nRateLimit-Policy: "default";q=40;w=20\n[^]*Retry-After: 8\n/,
  );

  const strip = page.getByRole('slider', { name: 'Requests of Client A' });
  const { width, height } = await strip.boundingBox();
  await strip.click({ position: { x: width * (1.5 / 60), y: height / 2 } });
  assert.match(await which.innerText(), /allowed\s*Request 1 of 147, Client A at 1.5 s/);
  assert.equal(
    await message.innerText(),
    'HTTP/1.1 200 OK\nRateLimit-Policy: "default";q=40;w=20\nRateLimit: "default";r=39;t=20',
  );
  await page.keyboard.press('ArrowRight');
  assert.match(await strip.getAttribute('aria-valuetext'), /^request 2 of 147, at .*: allowed$/);
  await press('Next denied');
  assert.match(await which.innerText(), /denied\s*Request 41 of 147/);

  await page.getByText('X-RateLimit, epoch', { exact: true }).click();
  assert.match(await message.innerText(), /^X-RateLimit-Reset: 1767225635$/m);
  assert.match(await code.innerText(), /headers: \{ legacy: 'epoch' \}/);
  await done();
});

test('the code is shown for each framework, and copied', async () => {
  const { page, code, pasted, done } = await open();
  const seen = new Set();
  for (const name of ['Express', 'Fastify', 'Koa', 'NestJS', 'Fetch', 'Hono', 'Core']) {
    await page.getByText(name, { exact: true }).last().click();
    const shown = (await code.innerText()).trim();
    seen.add(shown);
    await page.locator('.program .copy').click();
    assert.equal((await pasted()).trim(), shown);
  }
  assert.equal(seen.size, 7);
  await done();
});

describe('a link', () => {
  test('is copied, and another reader sees the same; so does one who reloads', async () => {
    const first = await open();
    await first.page.getByLabel('Kind of policy').selectOption('tokenBucket');
    await first.press('Several clients');
    await first.page.getByText('Fastify', { exact: true }).click();
    await first.press('Next denied');
    await first.press('Copy link');
    await first.page.getByText('Link copied').waitFor();
    const seen = async ({ page }) =>
      (await page.locator('.playground').innerText()).replace('Link copied', '').replace(/\s+/g, ' ').trim();
    const shown = await seen(first);

    const second = await open({}, (await first.pasted()).slice(site.origin.length));
    assert.equal(await seen(second), shown);
    await second.done();
    await first.reload('framework=fastify');
    assert.equal(await seen(first), shown);

    await first.page.evaluate((hash) => (globalThis.location.hash = hash), LINK.slice(LINK.indexOf('#')));
    await first.page.getByText('Client B').first().waitFor();
    assert.equal(await first.count('offered'), 15);
    await first.done();
  });

  test('that is hostile harms nothing: text stays text, and the page answers', async () => {
    const bars = Array(4).fill('O'.repeat(60)).join('.');
    for (const [fragment, offered] of [
      ["p=slidingWindow*name*');alert(1)//*limit*NaN*window*Infinity&bars=5&at=NaN&client=-1&span=1m&runs=1s", 5],
      ['p=slidingWindow*limit*1*window*1s&log=1 <img src=x onerror=alert(1)>*2 %3Cscript%3E', 2],
      [
        `p=slidingLog*limit*999999*window*1d&p=concurrency*limit*9999999*ttl*1d&span=1d&bars=${bars}&retry=backoff&cost=1000000&runs=1d&at=999999999`,
        12_000,
      ],
    ]) {
      const { page, count, press, done } = await open({}, `/playground#v=1&${fragment}`);
      page.on('dialog', () => assert.fail('a text was run'));
      assert.equal(await count('offered'), offered, fragment);
      assert.equal(await page.locator('.playground img, .playground script').count(), 0);
      await press('Burst');
      assert.ok((await count('offered')) > 0);
      await done();
    }
  });

  test('that is wrong says so, and the page works', async () => {
    const { page, count, done } = await open({}, '/playground#v=1&p=shoeBox*x*y&bars=zz-!&framework=koa');

    assert.deepEqual(await page.getByRole('alert').allInnerTexts(), [
      'The policies of this link could not be read.',
      'The traffic of this link could not be read.',
    ]);
    assert.equal(await count('offered'), 147);
    await done();
  });
});
