import { suiteOf, type Runner } from '../runner.ts';
import { describeBlocking } from './blocking.ts';
import { describeCalls } from './calls.ts';
import { describeChangedPolicies } from './changed-policies.ts';
import { describeConsuming } from './consuming.ts';
import { describeEscalation } from './escalation.ts';
import { describeSettling } from './settling.ts';
import { setupOf, type StoreFactory } from './setup.ts';
import { describeSlots } from './slots.ts';
import { describeUnitsOfKeys } from './units-of-keys.ts';
import { describeUsedUnits } from './used-units.ts';

/**
 * Describes the contract of every store, as some 90 tests: every operation over every policy; atomic, also with many
 * requests at once; exact to the millisecond; keys apart; denials that change nothing. It uses the public interface of
 * a limiter, so that it applies to every kind of store, and asserts with `node:assert`.
 *
 * @param name - Where the store keeps its keys: the tests are named after it.
 * @param runner - The module of the test runner: `node:test`, `vitest`, `@jest/globals`, `bun:test`. Default: the
 * global functions, which Jest and Mocha have.
 * @throws TypeError without a runner.
 *
 * @example
 * ```ts
 * import * as runner from 'node:test';
 *
 * describeStore('in SQLite', { source: 'remote', create: (clock) => sqliteStore(database, { clock }) }, runner);
 * ```
 */
export function describeStore(
  name: string,
  factory: StoreFactory,
  runner: Partial<Runner> = globalThis as Partial<Runner>,
): void {
  const suite = suiteOf(runner);
  const setup = setupOf(factory);
  suite.describe(`the store ${name}`, () => {
    suite.beforeAll(async () => factory.setUp?.());
    suite.afterAll(async () => factory.tearDown?.());
    describeConsuming(suite, setup);
    describeCalls(suite, setup);
    describeSettling(suite, setup);
    describeBlocking(suite, setup);
    describeUnitsOfKeys(suite, setup);
    describeUsedUnits(suite, setup);
    describeSlots(suite, setup);
    describeEscalation(suite, setup);
    describeChangedPolicies(suite, setup);
  });
}
