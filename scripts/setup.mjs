// Installs what the lock file says, with the package manager the lock file was written by. Needs only Node and npm.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';

if (!existsSync(new URL('../node_modules/.bin', import.meta.url))) console.log('Installing the dependencies, once ...');
const result = spawnSync(
  'npx',
  [
    '--yes',
    'pnpm@12.21.0',
    'install',
    '--frozen-lockfile',
    '--prefer-offline',
    '--network-concurrency=6',
    '--reporter=append-only',
    '--loglevel=warn',
  ],
  { stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, CI: 'true' }, shell: process.platform === 'win32' },
);
if (result.status !== 0) {
  console.error(
    '\nInstalling the dependencies failed. It needs Node 20.19 or newer, npm, and the npm registry (or a warm cache).',
  );
  process.exit(result.status ?? 1);
}
