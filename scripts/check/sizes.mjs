// Compares what users bundle with etc/sizes.json, and fails where a size is more than 5 % above what is recorded.
//
//   node scripts/check/sizes.mjs            compares; needs a build
//   node scripts/check/sizes.mjs --write    records the sizes of now, in the commit that needs them
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const recorded = new URL('../../etc/sizes.json', import.meta.url);
/** Has all packages and the peers installed. */
const resolveDir = fileURLToPath(new URL('../../packages/benchmarks', import.meta.url));
const MARGIN = 1.05;

/** Programs that a user bundles. */
const PROGRAMS = {
  'a limiter in memory':
    "import { createLimiter, fixedWindow } from '@sluice/core'; console.log(createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) }));",
  'Express in memory':
    "import { rateLimit } from '@sluice/express'; console.log(rateLimit({ limit: 1, window: '1m' }));",
  'Express with Redis':
    "import { rateLimit, redisStore } from '@sluice/express'; console.log(rateLimit({ limit: 1, window: '1m', store: redisStore('redis://localhost', { prefix: 'sluice' }) }));",
  'express-rate-limit':
    "import { rateLimit } from 'express-rate-limit'; console.log(rateLimit({ limit: 1, windowMs: 60_000 }));",
};

/** Minified and compressed. */
const sizes = {};
for (const [what, contents] of Object.entries(PROGRAMS)) {
  const { outputFiles } = await build({
    stdin: { contents, resolveDir },
    ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'node', legalComments: 'none' },
    external: ['express', 'ioredis', 'prom-client'],
  });
  sizes[what] = gzipSync(outputFiles[0].contents).length;
}
if (process.argv.includes('--write')) writeFileSync(recorded, `${JSON.stringify({ bundle: sizes }, null, 2)}\n`);
else {
  const { bundle } = JSON.parse(readFileSync(recorded, 'utf8'));
  for (const [what, bytes] of Object.entries(sizes)) {
    const isAbove = bytes > bundle[what] * MARGIN;
    if (isAbove) process.exitCode = 1;
    console.log(
      `${what}: ${bytes} bytes${isAbove ? `, above ${bundle[what]}: look why, or record it with --write` : ''}`,
    );
  }
}
