// Keeps the built adapter for Express as the first one of its minor version, which a test runs on each later core:
// `npm run build && node scripts/build/freeze-adapter.mjs`, once in the commit that raises the minor version.
import { readFileSync, writeFileSync } from 'node:fs';

const adapter = new URL('../../packages/express/', import.meta.url);
const { version } = JSON.parse(readFileSync(new URL('package.json', adapter), 'utf8'));
const built = readFileSync(new URL('dist/index.js', adapter), 'utf8');
writeFileSync(
  new URL('test/first-of-minor/adapter.mjs', adapter),
  `// @sluice/express ${version}, as built. Written by scripts/build/freeze-adapter.mjs: do not edit.\n${built}`,
);
