import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';
import { build } from 'esbuild';

it('is bundled without a Redis store, and with the algorithms that it uses by itself', async () => {
  const { metafile } = await build({
    stdin: {
      contents: "import { rateLimit } from '@sluice/express'; console.log(rateLimit({ limit: 1, window: '1m' }));",
      resolveDir: fileURLToPath(new URL('.', import.meta.url)),
    },
    ...{ bundle: true, write: false, metafile: true, outdir: '/', format: 'esm', platform: 'node' },
    conditions: ['@sluice/source'],
    external: ['express', 'ioredis'],
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  const used = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  const modules = used.map(([path]) => path);

  const others = modules.filter((path) => /stores\/redis|names-elsewhere|node_modules\/(?!@sluice)/.test(path));
  // What `watchNames` asks a Redis store with: only a running program knows which store its limiter has.
  expect(others.map((path) => path.split('/').at(-1))).toEqual(['connection.ts', 'run-script.ts']);
  // `limit` with `window`, and the budget of preflights without a key.
  expect(
    modules
      .filter((path) => path.endsWith('kernel.ts'))
      .map((path) => path.split('/').at(-2))
      .toSorted(),
  ).toEqual(['fixed-window', 'sliding-window']);
});
