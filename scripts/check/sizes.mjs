// Compares what users install, bundle and load with etc/sizes.json, and fails where a size is more than 5 % above what
// is recorded.
//
//   node scripts/check/sizes.mjs            compares; needs a build
//   node scripts/check/sizes.mjs --write    records the sizes of now, in the commit that needs them
//   node scripts/check/sizes.mjs --time     how long importing takes beside express-rate-limit, in new processes, in turn
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import { PACKAGES } from '../build/packages.mjs';
import { packAll } from '../setup/pnpm.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));
const recorded = join(root, 'etc/sizes.json');
/** Has all packages and the peers installed. */
const installed = join(root, 'packages/benchmarks');
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

if (process.argv.includes('--time')) printTimes();
else if (process.argv.includes('--write')) writeFileSync(recorded, `${JSON.stringify(await measure(), null, 2)}\n`);
else process.exitCode = compare(JSON.parse(readFileSync(recorded, 'utf8')), await measure()) ? 0 : 1;

function compare(before, now) {
  let fits = true;
  for (const [group, sizes] of Object.entries(now)) {
    for (const [what, bytes] of Object.entries(sizes)) {
      const allowed = (before[group]?.[what] ?? 0) * MARGIN;
      if (bytes > allowed) fits = false;
      const verdict = bytes > allowed ? `above ${Math.floor(allowed)}: look why, or record it with --write` : 'ok';
      console.log(`${group}, ${what}: ${bytes} bytes, ${verdict}`);
    }
  }
  return fits;
}

async function measure() {
  return { bundle: await bundles(), tarball: tarballs(), import: await imports() };
}

/** Minified and compressed. */
async function bundles() {
  const sizes = {};
  for (const [what, contents] of Object.entries(PROGRAMS)) {
    const { outputFiles } = await build({
      stdin: { contents, resolveDir: installed },
      ...{ bundle: true, minify: true, write: false, format: 'esm', platform: 'node', legalComments: 'none' },
      external: ['express', 'ioredis', 'prom-client'],
    });
    sizes[what] = gzipSync(outputFiles[0].contents).length;
  }
  return sizes;
}

/** Packed as npm publishes it. */
function tarballs() {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-sizes-'));
  try {
    const sizes = {};
    packAll(folder);
    for (const name of Object.keys(PACKAGES)) {
      const file = readdirSync(folder).find((entry) => new RegExp(`^sluice-${name}-\\d`).test(entry));
      sizes[`@sluice/${name}`] = statSync(join(folder, file)).size;
    }
    return sizes;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/**
 * The modules of ours that an import reads before the program begins, as they are in dist/. Loading on demand does not
 * count.
 */
async function imports() {
  const sizes = {};
  for (const name of ['@sluice/core', '@sluice/express']) {
    const { metafile } = await build({
      stdin: { contents: `import '${name}';`, resolveDir: installed },
      ...{ bundle: true, write: false, format: 'esm', platform: 'node', ignoreAnnotations: true, metafile: true },
      external: ['express', 'ioredis', 'prom-client'],
    });
    const read = new Set();
    const visit = (file) => {
      if (read.has(file)) return;
      read.add(file);
      for (const { path, kind, external } of metafile.inputs[file].imports)
        if (kind === 'import-statement' && external !== true) visit(path);
    };
    visit('<stdin>');
    sizes[name] = [...read].reduce((sum, file) => sum + metafile.inputs[file].bytes, 0);
  }
  return sizes;
}

/** CPU time, and the ratio of each pair: wall time says more about the machine. */
function printTimes() {
  const names = ['@sluice/express', 'express-rate-limit'];
  const taken = Array.from({ length: 21 }, () => names.map(timeOf));
  names.forEach((name, i) => console.log(`${name}: ${middle(taken.map((pair) => pair[i])).toFixed(1)} ms of CPU`));
  const ratios = taken.map(([ours, theirs]) => ours / theirs);
  const [least, most] = [Math.min(...ratios), Math.max(...ratios)].map((ratio) => ratio.toFixed(2));
  console.log(`ratio: ${middle(ratios).toFixed(2)} (${least} to ${most})`);
}

function timeOf(name) {
  const program = `const before = process.cpuUsage(); await import('${name}');
    const { user, system } = process.cpuUsage(before); console.log((user + system) / 1000);`;
  const args = ['--input-type=module', '-e', program];
  return Number(spawnSync(process.execPath, args, { cwd: installed, encoding: 'utf8' }).stdout);
}

function middle(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1];
}
