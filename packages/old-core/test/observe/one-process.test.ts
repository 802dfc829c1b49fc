import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a program of test/children prints, on the built package. */
const printed = (name: string, ...args: string[]): string => {
  const child = fileURLToPath(new URL(`../children/${name}`, import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', child, ...args], { encoding: 'utf8' });
  return stdout === '' ? stderr : stdout;
};

describe('import and require', () => {
  it.each([
    ['esm', 'cjs'],
    ['cjs', 'esm'],
  ])('load one copy of the package; a second one beside it warns once: %s, then %s', (first, second) => {
    expect(JSON.parse(printed('two-copies.mjs', first))).toEqual({
      sameModule: false,
      sameByRequire: true,
      warnings: [first, 'SLUICE_SEVERAL_COPIES', second],
    });
  });
});

describe('metrics', () => {
  it('keep no unreferenced limiter alive, and do not show it', () => {
    expect(printed('forgotten-limiters.mjs')).toBe('100 0');
  });
});
