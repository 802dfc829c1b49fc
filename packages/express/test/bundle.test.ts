import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';

/** The modules that have a part in a program as a user bundles it. */
async function bundled(contents: string): Promise<readonly string[]> {
  const { metafile } = await build({
    stdin: { contents, resolveDir: fileURLToPath(new URL('.', import.meta.url)) },
    ...{ bundle: true, write: false, metafile: true, outdir: '/', format: 'esm', platform: 'node' },
    conditions: ['@sluice/source'],
    external: ['express', 'ioredis'],
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  return Object.entries(output?.inputs ?? {}).flatMap(([path, { bytesInOutput }]) => (bytesInOutput > 0 ? [path] : []));
}

describe('a bundle of an application', () => {
  it('in memory has nothing that only Redis needs, and the algorithms that it uses by itself', async () => {
    const modules = await bundled(
      "import { rateLimit } from '@sluice/express'; console.log(rateLimit({ limit: 1, window: '1m' }));",
    );

    const others = /stores\/redis|store-guard|breaker|names-elsewhere|node_modules\/(?!@sluice)/;
    expect(modules.filter((path) => others.test(path))).toEqual([]);
    expect(modules.filter((path) => path.endsWith('kernel.ts')).map((path) => path.split('/').at(-2))).toEqual([
      'sliding-window',
    ]);
  });

  it('with Redis has the guard of the store', async () => {
    const modules = await bundled(`
      import { rateLimit, redisStore } from '@sluice/express';
      console.log(rateLimit({ limit: 1, window: '1m', store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }) }));`);

    expect(modules.map((path) => path.split('/').at(-1))).toContain('store-guard.ts');
  });
});
