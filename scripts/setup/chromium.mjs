// The browser of the tests that look at pages.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import axe from 'axe-core';
import { chromium } from 'playwright-core';

/** The features that a browser in a test does without: a sandbox inside a sandbox, a graphics card, and the network. */
const ARGS = ['--no-sandbox', '--disable-gpu', '--disable-background-networking', '--disable-component-update'];

/** Starts a Chromium. Exits with what to install if there is none. */
export function openChromium() {
  const program = fileURLToPath(new URL('test-tools.mjs', import.meta.url));
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout } = spawnSync(process.execPath, [program, 'chromium'], options);
  if (status !== 0) process.exit(1);
  return chromium.launch({ executablePath: stdout.trim().split('\n').at(-1), args: ARGS });
}

/** What axe-core finds in the present state of a page: rule, element, and why. */
export async function violationsIn(page, context = {}) {
  await page.evaluate(axe.source);
  const { violations } = await page.evaluate((parts) => globalThis.axe.run(parts), context);
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id} ${target.join(' ')}: ${failureSummary}`),
  );
}

/** Adds to `said` what the browser reports as wrong with a page: errors and warnings on its console, exceptions. */
export function listen(page, said) {
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) said.push(`${page.url()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => said.push(`${page.url()}: ${error.message}`));
}
