import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { PACKAGES } from '../build/packages.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const PNPM = 'pnpm@12.21.0';
const shell = process.platform === 'win32';
let found;

/** Runs the version of pnpm that wrote the lock file, which need not be installed. */
export function pnpm(args, cwd) {
  found ??= withPnpm();
  return spawnSync('pnpm', args, { cwd, env: found, stdio: ['ignore', 'inherit', 'inherit'], shell });
}

/** Packs all packages that are published, into a folder. */
export function packAll(into) {
  const named = Object.keys(PACKAGES).flatMap((name) => ['--filter', `@sluice/${name}`]);
  const { status } = pnpm(['--recursive', ...named, 'pack', '--pack-destination', into, '--reporter=silent'], root);
  if (status !== 0) throw new Error('The packages cannot be packed.');
}

/** npx takes over a second to find it, so it is asked once: it puts pnpm first in the PATH of what it runs. */
function withPnpm() {
  const env = { ...process.env, CI: 'true' };
  // Set by an outer npx, as in `npx -p node@24 -c 'npm test'`; the inner npx would take them as its own options.
  delete env['npm_config_package'];
  delete env['npm_config_call'];
  const stdio = ['ignore', 'pipe', 'inherit'];
  const asked = spawnSync('npx', ['--yes', '--package', PNPM, '--call', 'node -p process.env.PATH'], {
    env,
    stdio,
    shell,
    encoding: 'utf8',
  });
  if (asked.status !== 0) throw asked.error ?? new Error(`npx cannot get ${PNPM}`);
  return { ...env, PATH: asked.stdout.trim() };
}
