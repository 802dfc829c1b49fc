import { spawnSync } from 'node:child_process';

/** Runs the version of pnpm that wrote the lock file, which need not be installed. */
export function pnpm(args, cwd) {
  const env = { ...process.env, CI: 'true' };
  // Set by an outer npx, as in `npx -p node@24 -c 'npm test'`; the inner npx would take them as its own options.
  delete env['npm_config_package'];
  delete env['npm_config_call'];
  return spawnSync('npx', ['--yes', 'pnpm@12.21.0', ...args], {
    cwd,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
}
