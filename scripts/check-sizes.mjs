// Fails when a package or a bundled limiter has grown over its budget. Prints each beside express-rate-limit.
//
//   node scripts/check-sizes.mjs            the sizes
//   node scripts/check-sizes.mjs --import   how long importing takes, in new processes, one after the other
import { spawnSync } from 'node:child_process';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const root = fileURLToPath(new URL('..', import.meta.url));
// Has all packages and the peers installed.
const installed = join(root, 'packages/benchmarks');

/** What a program bundles, minified and compressed, in bytes at most. */
const BUNDLES = [
  [
    'a limiter in memory',
    "import { createLimiter, fixedWindow } from '@sluice/core'; console.log(createLimiter({ policy: fixedWindow({ limit: 1, window: '1m' }) }));",
    40_000,
  ],
  [
    'Express in memory',
    "import { rateLimit } from '@sluice/express'; console.log(rateLimit({ limit: 1, window: '1m' }));",
    57_000,
  ],
  [
    'Express with Redis',
    "import { rateLimit, redisStore } from '@sluice/express'; console.log(rateLimit({ limit: 1, window: '1m', store: redisStore('redis://localhost') }));",
    90_000,
  ],
  [
    'express-rate-limit',
    "import { rateLimit } from 'express-rate-limit'; console.log(rateLimit({ limit: 1, windowMs: 60_000 }));",
    Infinity,
  ],
];
/** What core publishes, at most. */
const CORE = { files: 60, bytes: 1_430_000 };

if (process.argv.includes('--import')) printImports();
else process.exitCode = (await checkSizes()) ? 0 : 1;

async function checkSizes() {
  let fits = true;
  const within = (what, size, budget, unit) => {
    fits &&= size <= budget;
    console.log(`${what}: ${size} ${unit}${budget === Infinity ? '' : ` of at most ${budget}`}`);
  };
  const published = readdirSync(join(root, 'packages/core/dist')).filter((file) => !/^(internal|kernels)\./.test(file));
  const files = [...published.map((file) => `dist/${file}`), 'package.json', 'README.md', 'LICENSE'];
  const bytes = files.reduce((sum, file) => sum + statSync(join(root, 'packages/core', file)).size, 0);
  within('core', files.length, CORE.files, 'files');
  within('core', bytes, CORE.bytes, 'bytes');
  for (const [what, contents, budget] of BUNDLES) {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: installed },
      ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'node', legalComments: 'none' },
      external: ['express', 'ioredis', 'prom-client'],
    });
    within(what, gzipSync(outputFiles[0].contents).length, budget, 'bytes, minified and compressed');
  }
  return fits;
}

function printImports() {
  const names = ['@sluice/express', 'express-rate-limit'];
  const taken = new Map(names.map((name) => [name, []]));
  for (let i = 0; i < 21; i++) {
    for (const name of names) {
      const program = `const began = performance.now(); await import('${name}'); console.log(performance.now() - began);`;
      const { stdout } = spawnSync(process.execPath, ['--input-type=module', '-e', program], {
        cwd: installed,
        encoding: 'utf8',
      });
      taken.get(name).push(Number(stdout));
    }
  }
  const medians = names.map((name) => taken.get(name).sort((a, b) => a - b)[10]);
  names.forEach((name, i) => console.log(`${name}: ${medians[i].toFixed(1)} ms`));
  console.log(`ratio: ${(medians[0] / medians[1]).toFixed(2)}`);
}
