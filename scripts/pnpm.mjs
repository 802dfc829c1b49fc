import { spawnSync } from 'node:child_process';

/** Runs pnpm, the version that wrote the lock file, without its being installed. */
export function pnpm(args, cwd) {
  const env = { ...process.env, CI: 'true' };
  // Of an npx around this one, as in `npx -p node@24 -c 'npm test'`: they would become options of the one below.
  delete env['npm_config_package'];
  delete env['npm_config_call'];
  return spawnSync('npx', ['--yes', 'pnpm@12.21.0', ...args], {
    cwd,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
}
