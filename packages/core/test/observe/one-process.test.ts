import { describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** What a program of test/children prints, on the built package. */
const printed = (name: string, ...args: string[]): string => {
  const child = fileURLToPath(new URL(`../children/${name}`, import.meta.url));
  const { stdout, stderr } = spawnSync(process.execPath, ['--expose-gc', child, ...args], { encoding: 'utf8' });
  return stdout === '' ? stderr : stdout;
};

describe('two copies of the package in one process', () => {
  it.each(['esm', 'cjs'])('are collected together, and know the names of each other: %s', (collecting) => {
    expect(JSON.parse(printed('two-copies.mjs', collecting))).toEqual({
      sameModule: false,
      sameByRequire: true,
      nameTwice: 'SLUICE_LIMITER_NAME_TAKEN',
      twice: ['SLUICE_OPTION_INVALID', 'SLUICE_OPTION_INVALID'],
      decisions: ['esm 1', 'cjs 1'],
      keys: ['esm 1', 'cjs 1'],
      otelDecisions: ['esm 1', 'cjs 1'],
      otelKeys: ['esm 1', 'cjs 1'],
    });
  });
});

describe('metrics', () => {
  it('keep no unreferenced limiter alive, and do not show it', () => {
    expect(printed('forgotten-limiters.mjs')).toBe('100 0');
  });
});
