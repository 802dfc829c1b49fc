import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** A runtime other than the Node.js that runs the tests. */
export interface Runtime {
  /** Such as `Bun`. */
  readonly name: string;
  /** The command that runs a program of TypeScript on it. */
  commandOf(program: URL, ...args: readonly string[]): [string, ...string[]];
  /** Runs a file of tests under its own test runner, and resolves to how many have passed: all of them. */
  test(file: URL): Promise<number>;
}

/** How each runs its own test runner, and what that prints after success. */
const RUNNERS: Readonly<Record<string, { readonly args: readonly string[]; readonly passed: RegExp }>> = {
  Bun: { args: ['test', '--timeout', '60000'], passed: /(\d+) pass\n\s*0 fail/ },
  Deno: {
    args: [
      ...['test', '--allow-all', '--no-check', '--no-lock', '--node-modules-dir=manual'],
      // In place of `@jest/globals`, which Bun has.
      `--import-map=${fileURLToPath(new URL('../runtimes/deno-imports.json', import.meta.url))}`,
    ],
    passed: /passed \((\d+) steps\) \| 0 failed/,
  },
};

/** The runtimes that `npm run real -- runtimes` has installed, in the variable by which it hands them on. */
export function runtimes(): readonly Runtime[] {
  const commands = JSON.parse(process.env['SLUICE_RUNTIMES'] ?? '{}') as Record<string, [string, ...string[]]>;
  return Object.entries(commands).map(([name, command]) => ({
    name,
    commandOf: ({ pathname }, ...args) => [...command, pathname, ...args],
    async test(file) {
      const { args, passed } = RUNNERS[name] as (typeof RUNNERS)[string];
      const env = { ...process.env, NO_COLOR: '1' };
      const { stdout, stderr } = await promisify(execFile)(command[0], [...args, fileURLToPath(file)], { env });
      const output = stdout + stderr;
      const [, count] = passed.exec(output) ?? [];
      if (count === undefined) throw new Error(output);
      return Number(count);
    },
  }));
}
