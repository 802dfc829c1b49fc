// The site as it was built, behind a static server, in a real browser.
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { serve } from 'vitepress';
import { listen, openChromium } from '../../scripts/setup/chromium.mjs';

/** The folder of the site, which was built into dist/. */
export const SITE_FOLDER = fileURLToPath(new URL('../', import.meta.url));
export const DIST = `${SITE_FOLDER}dist/`;

/** A state of the playground that has nothing of the first one. */
export const LINK =
  '/playground#v=1&p=fixedWindow*limit*5*window*10s*align*clock*name*a&p=leakyBucket*limit*10*window*10s*maxDelay*2s*name*b&span=30s&bars=0005.00000a&runs=1s&key=ip&store=redis&headers=draft-6&framework=koa&client=1&at=5';
export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };

/** The built site in a browser: `origin`, its address without a slash at the end, and tabs. Close it. */
export async function openSite() {
  const { server } = await serve({ root: SITE_FOLDER, port: { port: 0, host: '127.0.0.1' } });
  if (!server.listening) await once(server, 'listening');
  const browser = await openChromium();
  const origin = `http://127.0.0.1:${server.address().port}`;

  /**
   * A tab of its own, without anything stored.
   *
   * @returns The page, and `said`: what the browser reports as wrong (errors and warnings on the console, exceptions,
   *   failed requests) and what was asked of other hosts.
   */
  async function tab({ viewport = DESKTOP, colorScheme = 'light' } = {}) {
    const context = await browser.newContext({ viewport, colorScheme, serviceWorkers: 'block' });
    const page = await context.newPage();
    page.setDefaultTimeout(60_000);
    const said = [];
    listen(page, said);
    page.on('requestfailed', (request) => {
      const why = request.failure()?.errorText;
      // What a page that was left still waited for.
      if (why !== 'net::ERR_ABORTED') said.push(`${page.url()}: ${request.url()} ${why}`);
    });
    page.on('request', (request) => {
      if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
        said.push(`${page.url()}: asks ${request.url()}`);
    });
    return { page, said, close: () => context.close() };
  }

  async function close() {
    await browser.close();
    server.closeAllConnections();
    await new Promise((closed) => server.close(closed));
  }
  return { origin, tab, close };
}
