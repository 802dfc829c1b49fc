// Installs the versions of the lock file, with the package manager that wrote it. Needs only Node and npm.
import { existsSync } from 'node:fs';
import { pnpm } from './pnpm.mjs';

if (!existsSync(new URL('../../node_modules/.bin', import.meta.url)))
  console.log('Installing the dependencies, once ...');
const { status } = pnpm([
  'install',
  '--frozen-lockfile',
  '--prefer-offline',
  '--network-concurrency=6',
  '--reporter=append-only',
  '--loglevel=warn',
]);
if (status !== 0) {
  console.error(
    '\nInstalling the dependencies failed. It needs Node 20.19 or newer, npm, and the npm registry (or a warm cache).',
  );
  process.exit(status ?? 1);
}
