// Finds a Chromium for the tests that look at pages: CHROMIUM, or what is on the path. Where none is, Debian's is
// installed with apt-get, as root or with sudo. (Ubuntu's is a snap, which does not start in a container: its runners
// have Chrome.)
import { spawnSync } from 'node:child_process';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

/** The features that a browser in a test does without: a sandbox inside a sandbox, a graphics card, and the network. */
export const CHROMIUM_ARGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  '--disable-component-update',
];

/** The path of the program. Exits with what to install if there is none. */
export function findChromium() {
  const found = candidates() ?? (install() && candidates());
  if (found) return found;
  console.error(
    'The tests look at pages in a real browser. Install Chromium (Debian: apt-get install chromium), or set CHROMIUM to the path of a Chromium or Chrome.',
  );
  process.exit(1);
}

function candidates() {
  const named = process.env['CHROMIUM'] ?? '';
  const names = named === '' ? NAMES : [named];
  return names.map(onPath).find((path) => path && spawnSync(path, ['--version']).status === 0);
}

function onPath(name) {
  return spawnSync('sh', ['-c', 'command -v "$0"', name], { encoding: 'utf8' }).stdout.trim();
}

function install() {
  const sudo = process.getuid?.() === 0 ? '' : 'sudo ';
  const commands = `${sudo}apt-get update -qq && ${sudo}apt-get install -y -qq --no-install-recommends chromium`;
  console.log(`$ ${commands}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  return spawnSync('sh', ['-c', commands], { stdio: ['ignore', 'ignore', 'inherit'], env }).status === 0;
}
