// Serves the site while its documents change, or builds it into dist/:
//
//   npm run docs [-- --port N]
//   npm run docs -- build
import { parseArgs } from 'node:util';
import { fileURLToPath } from 'node:url';
import { pnpm } from '../scripts/setup/pnpm.mjs';

const here = fileURLToPath(new URL('.', import.meta.url));
const {
  positionals: [command = 'serve'],
  values: { port },
} = parseArgs({ allowPositionals: true, options: { port: { type: 'string', default: '5173' } } });
if (command !== 'serve' && command !== 'build') {
  console.error('Write `npm run docs` to serve the site, or `npm run docs -- build` to build it.');
  process.exit(2);
}

// The dependencies of the site alone: a workspace of its own, installed when first used.
const { status } = pnpm(['install', '--frozen-lockfile', '--prefer-offline', '--loglevel=warn'], here);
if (status !== 0) process.exit(status ?? 1);
const { writeReference } = await import('./reference.mjs');
await writeReference();
const { build, createServer } = await import('vitepress');
if (command === 'build') await build(here);
else {
  const server = await createServer(here, { port: Number(port), host: '127.0.0.1' });
  await server.listen();
  server.printUrls();
}
