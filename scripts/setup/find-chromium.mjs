import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** The features that a browser in a test does without: a sandbox inside a sandbox, a graphics card, and the network. */
export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
];

/** The path of a Chromium for the tests that look at pages. Exits with what to install if there is none. */
export function findChromium() {
  const program = fileURLToPath(new URL('test-tools.mjs', import.meta.url));
  const options = { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  const { status, stdout } = spawnSync(process.execPath, [program, 'chromium'], options);
  if (status !== 0) process.exit(1);
  return stdout.trim().split('\n').at(-1);
}
