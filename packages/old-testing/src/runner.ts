/**
 * The functions of a test runner that a suite calls. The modules `node:test`, `vitest`, `@jest/globals` and `bun:test`
 * are such objects, and so is `globalThis` where a runner puts its functions there.
 */
export interface Runner {
  readonly describe: (name: string, define: () => void) => unknown;
  /** Jest, Vitest and Bun take the time limit of a test, in milliseconds; others ignore it. */
  readonly it: (name: string, run: () => Promise<void>, timeoutMs?: number) => unknown;
  /** Jest, Vitest and Bun. */
  readonly beforeAll?: (run: () => Promise<void>) => unknown;
  readonly afterAll?: (run: () => Promise<void>) => unknown;
  /** `node:test` and Mocha. */
  readonly before?: (run: () => Promise<void>) => unknown;
  readonly after?: (run: () => Promise<void>) => unknown;
}

/** A runner with one name for each function. */
export interface Suite {
  readonly describe: (name: string, define: () => void) => unknown;
  readonly it: (name: string, run: () => Promise<void>, timeoutMs?: number) => unknown;
  readonly beforeAll: (run: () => Promise<void>) => unknown;
  readonly afterAll: (run: () => Promise<void>) => unknown;
}

/** @throws TypeError for what is no runner. */
export function suiteOf(runner: Partial<Runner>): Suite {
  const { describe, it } = runner;
  const beforeAll = runner.beforeAll ?? runner.before;
  const afterAll = runner.afterAll ?? runner.after;
  const functions = { describe, it, beforeAll, afterAll };
  const missing = Object.entries(functions).find(([, found]) => typeof found !== 'function');
  if (missing === undefined) return functions as Suite;
  throw new TypeError(
    `describeStore needs a test runner with describe, it, before(All) and after(All), got none with ${missing[0]}: ` +
      "pass its module as the last argument, such as `import * as runner from 'node:test'` (or 'vitest'); without one it takes the global functions of Jest or Mocha",
  );
}
