import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';

const entry = fileURLToPath(new URL('../src/index.ts', import.meta.url));
const {
  outputFiles: [file],
  metafile,
} = await build({
  entryPoints: [entry],
  ...{ bundle: true, minify: true, write: false, metafile: true, outdir: '/' },
  format: 'esm',
  // Fails when anything imports a module of Node.js.
  platform: 'browser',
  conditions: ['@sluice/source'],
});

describe('the bundle of the playground', () => {
  it('has the kernels of core, and nothing of Redis, sockets or frameworks', () => {
    const modules = Object.keys(metafile.inputs);

    expect(modules).toContainEqual(expect.stringMatching(/core\/src\/engine\/evaluate\.ts$/));
    expect(modules.filter((path) => path.endsWith('/kernel.ts'))).toHaveLength(8);
    expect(modules.filter((path) => /redis|remote|managed|\.lua|node_modules\/(?!@sluice)/.test(path))).toEqual([]);
  });

  it('is a small part of the page', () => {
    expect(gzipSync(file?.contents ?? '').length).toBeLessThan(30_000);
  });
});
