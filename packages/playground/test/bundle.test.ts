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
  // Clients of Redis, which only a store in Redis loads.
  external: ['ioredis', 'redis'],
});

describe('the bundle of the playground', () => {
  it('has the program of core, and nothing of Redis, sockets or frameworks', () => {
    const { inputs = {}, imports = [] } = Object.values(metafile.outputs)[0] ?? {};
    const modules = Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0);

    expect(imports).toEqual([]);

    expect(modules).toContainEqual(expect.stringMatching(/core\/src\/program\/decide\.ts$/));
    expect(modules.filter((path) => /redis|remote|managed|\.lua|node_modules\/(?!@sluice)/.test(path))).toEqual([]);
  });

  it('is a small part of the page', () => {
    expect(gzipSync(file?.contents ?? '').length).toBeLessThan(38_000);
  });
});
