import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A runtime other than the Node.js that runs the tests. */
export interface Runtime {
  /** Such as `Bun`. */
  readonly name: string;
  /** The command that runs a TypeScript program on it. */
  commandOf(program: URL, ...args: readonly string[]): [string, ...string[]];
  /** Runs a test file with its own test runner, and resolves to the number of tests that passed, which must be all. */
  test(file: URL): Promise<number>;
}

const DENO = ['--allow-all', '--no-lock', '--node-modules-dir=manual'];
/** How each runtime runs a program and tests, and what that prints after success, in the order of their paths. */
const RUNTIMES = [
  { name: 'Bun', run: [], tests: ['test', '--timeout', '60000'], passed: /(\d+) pass\n\s*0 fail/ },
  {
    name: 'Deno',
    run: ['run', ...DENO, '--quiet'],
    // The map replaces `@jest/globals`, which Bun has built in.
    tests: ['test', ...DENO, '--no-check', `--import-map=${findPath('../runtimes/deno-imports.json')}`],
    passed: /passed \((\d+) steps\) \| 0 failed/,
  },
];

/** The runtimes that `npm run real -- runtimes` has installed, by their paths in SLUICE_RUNTIMES. */
export function runtimes(): readonly Runtime[] {
  const paths = (process.env['SLUICE_RUNTIMES'] ?? '').split(' ').filter(Boolean);
  return paths.map((path, i) => {
    const { name, run, tests, passed } = RUNTIMES[i] as (typeof RUNTIMES)[number];
    return {
      name,
      commandOf: ({ pathname }, ...args) => [path, ...run, pathname, ...args],
      async test(file) {
        const env = { ...process.env, NO_COLOR: '1' };
        const { stdout, stderr } = await promisify(execFile)(path, [...tests, fileURLToPath(file)], { env });
        const [, count] = passed.exec(stdout + stderr) ?? [];
        if (count === undefined) throw new Error(stdout + stderr);
        return Number(count);
      },
    };
  });
}

function findPath(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url));
}
