import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import * as jestGlobals from '@jest/globals';
import { describe, expect, it } from '@jest/globals';
import { memoryStore } from '@sluice/old-core';
import { describeStore, type Runner, type StoreFactory } from '@sluice/old-testing';
import * as nodeTest from 'node:test';

const inMemory: StoreFactory = { source: 'memory', create: (clock) => memoryStore({ clock }) };

// Jest's global functions, and its module. Vitest and CommonJS: `npm run matrix -- packages jest vitest`.
describeStore('in memory, with global functions', inMemory);
describeStore('in memory, with those of a module', inMemory, jestGlobals);

/** What the runner of Node prints about a file: passed and failed tests. */
function nodeTests(file: string): { readonly passed: number; readonly failed: number; readonly output: string } {
  const path = fileURLToPath(new URL(`runners/${file}`, import.meta.url));
  const { stdout } = spawnSync(process.execPath, ['--test', '--test-reporter=tap', path], { encoding: 'utf8' });
  const count = (what: string): number => Number(new RegExp(`^# ${what} (\\d+)$`, 'm').exec(stdout)?.[1]);
  return { passed: count('pass'), failed: count('fail'), output: stdout };
}

describe('describeStore under node:test', () => {
  it('passes for the memory store, with all its tests', () => {
    const tests: string[] = [];
    const counting: Runner = {
      describe: (_name, define) => {
        define();
      },
      it: (name) => tests.push(name),
      before: () => undefined,
      after: () => undefined,
    };
    describeStore('counted', inMemory, counting);

    const { passed, failed } = nodeTests('node-test.mjs');

    expect({ passed, failed }).toEqual({ passed: tests.length, failed: 0 });
    expect(tests.length).toBeGreaterThan(80);
  });

  it('fails for a store with a fault, and says what was expected', () => {
    const { passed, failed, output } = nodeTests('broken-store.mjs');

    expect(failed).toBeGreaterThan(20);
    expect(passed).toBeGreaterThan(20);
    expect(output).toContain('Expected values to be strictly deep-equal');
  });
});

describe('a runner', () => {
  it('is the module of any of them', () => {
    const runners: readonly Partial<Runner>[] = [nodeTest, jestGlobals];

    expect(runners.map(({ describe: found }) => typeof found)).toEqual(['function', 'function']);
  });

  it.each([
    [{}, /describe/],
    [{ describe: () => undefined, it: () => undefined, after: () => undefined }, /beforeAll/],
  ])('that is none is an error: %j', (runner, missing) => {
    expect(() => {
      describeStore('x', inMemory, runner);
    }).toThrow(/describeStore needs a test runner .*node:test/);
    expect(() => {
      describeStore('x', inMemory, runner);
    }).toThrow(missing);
  });
});
