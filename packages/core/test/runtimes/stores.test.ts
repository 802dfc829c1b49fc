import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { runtimes } from '@sluice/testkit';

const pathOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));
const program = pathOf('stores.program.ts');

/** How each runs its own test runner, and what that prints after success. */
const RUNNERS: Readonly<Record<string, { readonly args: readonly string[]; readonly passed: RegExp }>> = {
  Bun: { args: ['test', '--timeout', '60000', program], passed: /(\d+) pass\n\s*0 fail/ },
  Deno: {
    args: [
      ...['test', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual'],
      ...[`--import-map=${pathOf('deno-imports.json')}`, program],
    ],
    passed: /passed \((\d+) steps\) \| 0 failed/,
  },
};

describe.each(runtimes())('under the test runner of $name', ({ name, binary }) => {
  it('the contract of stores holds in memory and in Redis', async () => {
    const { args, passed } = RUNNERS[name] as (typeof RUNNERS)[string];

    const { stdout, stderr } = await promisify(execFile)(binary, args, { env: { ...process.env, NO_COLOR: '1' } });

    expect(Number(passed.exec(stdout + stderr)?.[1])).toBeGreaterThan(140);
  });
});
