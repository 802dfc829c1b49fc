import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';

const folder = fileURLToPath(new URL('.', import.meta.url));

/** A program as a user bundles it: its text, and the modules of core that have a part in it. */
async function bundled(contents: string): Promise<{ text: string; modules: readonly string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: folder },
    ...{ bundle: true, minify: true, write: false, metafile: true, outdir: '/', format: 'esm', platform: 'node' },
    conditions: ['@sluice/source'],
    external: ['ioredis'],
    logLevel: 'silent',
  });
  const [output] = Object.values(metafile.outputs);
  const used = Object.entries(output?.inputs ?? {}).filter(([, { bytesInOutput }]) => bytesInOutput > 0);
  return { text: outputFiles[0]?.text ?? '', modules: used.map(([path]) => path.slice(path.indexOf('/src/') + 5)) };
}

function printed(program: string): string {
  const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module'], { input: program, encoding: 'utf8' });
  return stdout.trim() + stderr;
}

const kernels = (modules: readonly string[]): readonly string[] =>
  modules.filter((path) => path.endsWith('kernel.ts')).toSorted();

const USES_ONE = `
  import { createLimiter, tokenBucket } from '@sluice/old-core';
  const limiter = createLimiter({ policy: tokenBucket({ capacity: 1, refill: 1, every: '1h' }) });
  const decisions = [await limiter.consume('ann'), await limiter.consume('ann')];
  console.log(decisions.map(({ allowed }) => allowed).join());`;

describe('a bundle with a limiter in memory', () => {
  it('decides', async () => {
    const { text } = await bundled(USES_ONE);

    expect(printed(text)).toBe('true,false');
  });

  it('has the algorithms of the functions that it uses, nothing of Redis, and no names of other packages', async () => {
    const { modules } = await bundled(USES_ONE);

    expect(kernels(modules)).toEqual([
      'algorithms/interval-bucket/kernel.ts',
      'algorithms/sliding-window/kernel.ts', // of `{ limit, window }`
      'algorithms/token-bucket/kernel.ts',
    ]);
    expect(modules.filter((path) => /stores\/redis|names-elsewhere|inspect/.test(path))).toEqual([]);
    const guards = modules.filter((path) => path.startsWith('guard/'));
    // How long it may take is said by what reads policies, too.
    expect(guards).toEqual(['guard/deadline.ts', 'guard/brought-guard.ts']);
  });

  it('does not know a policy of another algorithm, and the error says why', async () => {
    const { text } = await bundled(`
      import { createLimiter, tokenBucket } from '@sluice/old-core';
      tokenBucket({ capacity: 1, refill: 1, every: '1h' });
      try {
        createLimiter({ policy: { algorithm: 'slidingLog', limit: 1, windowMs: 1000 } });
      } catch (error) {
        console.log(error.message);
      }`);

    expect(printed(text)).toMatch(
      /a bundle knows the algorithms whose functions it uses; known algorithms: .*tokenBucket/,
    );
  });

  it('tells of an unknown option which ones there are', async () => {
    const { text } = await bundled(`
      import { createLimiter, fixedWindow } from '@sluice/old-core';
      try {
        createLimiter({ policy: fixedWindow({ limit: 1, windowMs: 60000 }) });
      } catch (error) {
        console.log(error.message);
      }`);

    expect(printed(text)).toContain('fixedWindow has no option "windowMs" (got 60000); did you mean "window"?');
  });
});

const STORE = `{ source: 'remote', perform: () => new Promise(() => {}) }`;

const USES_STORE = (store: string): string => `
  import { createLimiter, customStore, fixedWindow } from '@sluice/old-core';
  const policy = fixedWindow({ limit: 1, window: '1h' });
  try {
    const limiter = createLimiter({ policy, store: ${store}, timeoutMs: 1, onStoreError: 'deny' });
    const { allowed, error } = await limiter.consume('ann');
    console.log(allowed, error.code);
  } catch (error) {
    console.log(error.message);
  }`;

describe('a bundle with a store of the program', () => {
  it('waits for it within a deadline, if the program calls customStore', async () => {
    const { text, modules } = await bundled(USES_STORE(`customStore(${STORE})`));

    expect(printed(text)).toBe('false SLUICE_STORE_TIMEOUT');
    expect(modules.filter((path) => path.startsWith('stores/redis'))).toEqual([]);
  });

  it('has no limiter over it otherwise, and the error says how to write it', async () => {
    const { text } = await bundled(USES_STORE(STORE));

    expect(printed(text)).toContain('write store: customStore(store)');
  });
});

describe('a bundle with a Redis store', () => {
  it('waits for it within a deadline', async () => {
    const { modules } = await bundled(`
      import { createLimiter, fixedWindow, redisStore } from '@sluice/old-core';
      const policy = fixedWindow({ limit: 1, window: '1h' });
      console.log(createLimiter({ policy, store: redisStore('redis://127.0.0.1:1', { prefix: 'sluice' }) }));`);

    expect(modules).toContain('guard/store-guard.ts');
  });
});

describe('a bundle with all policies', () => {
  it('has every algorithm', async () => {
    const { modules } = await bundled("import * as core from '@sluice/old-core'; console.log(core);");

    expect(kernels(modules)).toHaveLength(8);
  });
});

describe('an import in Node', () => {
  const packages = fileURLToPath(new URL('../../../', import.meta.url));

  it.each(['old-core', 'express'])('of %s loads no module of Node that few programs need', (name) => {
    const loaded = printed(`
      const before = new Set(process.moduleLoadList);
      await import('${packages}${name}/dist/index.js');
      console.log(process.moduleLoadList.filter((module) => !before.has(module)).join('\\n'));`).split('\n');

    const few = ['cluster', 'child_process', 'dgram', 'http', 'module', 'timers/promises'];
    expect(few.filter((builtin) => loaded.includes(`NativeModule ${builtin}`))).toEqual([]);
  });

  it('knows every algorithm and the options of other packages', () => {
    const program = `
      import { createLimiter } from '${packages}old-core/dist/index.js';
      const messageOf = (options) => { try { createLimiter(options); } catch (error) { return error.message; } };
      createLimiter({ name: 'log', policy: { algorithm: 'slidingLog', limit: 1, windowMs: 1000 } });
      console.log(messageOf({ passOnStoreError: true }));`;

    expect(printed(program)).toContain('did you mean onStoreError: "allow"?');
  });
});
