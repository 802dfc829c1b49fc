import { aborts } from './aborts.ts';
import { addresses } from './addresses.ts';
import { retryingClients } from './clients.ts';
import { cors } from './cors.ts';
import { costs } from './costs.ts';
import { escalatedLimits } from './escalation.ts';
import { failures } from './failures.ts';
import { headerVectors } from './header-vectors.ts';
import { keys } from './keys.ts';
import { lists } from './lists.ts';
import { managedPolicies } from './managed-policies.ts';
import { methods } from './methods.ts';
import { noFields } from './no-fields.ts';
import { options } from './options.ts';
import { pacing } from './pacing.ts';
import { parsers } from './parsers.ts';
import { preflights } from './preflights.ts';
import { races } from './races.ts';
import { refunds } from './refunds.ts';
import { denials } from './denials.ts';
import { reportMode } from './report-mode.ts';
import { severalLimits } from './several-limits.ts';
import { abortedSlots } from './slots-aborted.ts';
import { slots } from './slots.ts';
import { spellings } from './spellings.ts';
import { stackedLimits } from './stacked-limits.ts';
import type { AdapterTarget } from '../adapter-target/target.ts';
import { adapterRunnerOf, type Runner } from '../runner.ts';
import { contractParts, type ContractOptions, type ContractPart } from './contract-options.ts';
import { inProcess, type ContractTarget } from './contract-target.ts';
import { defineScenarios, isNamed, titlesOf } from './scenario.ts';
import { suiteFor, type Suite } from './suite.ts';

/** The scenarios, in parts of about equal duration. */
const PARTS: Readonly<Record<ContractPart, readonly ((suite: Suite) => void)[]>> = {
  answers: [headerVectors, noFields, options, denials, reportMode, lists, cors, parsers, retryingClients],
  keys: [stackedLimits, spellings, methods, preflights, addresses, keys, severalLimits],
  counting: [costs, races, refunds, failures, escalatedLimits, managedPolicies],
  waiting: [pacing, slots, abortedSlots, aborts],
};

/**
 * Describes the contract of every adapter, as some 600 tests over real HTTP: the responses byte for byte, the options, and
 * limits that no form of a request escapes. Scenarios run on the memory store and on a real Redis. It needs the packages
 * that the README of `@sluice/testing` lists.
 *
 * @param target - A target in this process, or one that is a program: see {@link processTarget}.
 * @param options - Which Redis, and which parts of the contract.
 * @param runner - The module of the test runner: `node:test`, `vitest`, `@jest/globals`. Default: the global functions,
 * which Jest has.
 * @throws TypeError without a runner, or for a part that does not exist. Error where `impossible` names a scenario that
 * does not exist, or there is no Redis.
 *
 * @example
 * ```ts
 * import * as runner from 'node:test';
 *
 * describeAdapter({ name: 'Polka 1', start }, { redis: 'redis://127.0.0.1:6379' }, runner);
 * ```
 */
export function describeAdapter(
  target: AdapterTarget | ContractTarget,
  options: ContractOptions = {},
  runner: Partial<Runner> = globalThis as Partial<Runner>,
): void {
  const parts = options.parts ?? contractParts;
  const unknown = parts.find((part) => !contractParts.includes(part));
  if (unknown !== undefined)
    throw new TypeError(`parts of describeAdapter are ${contractParts.join(', ')}, got ${JSON.stringify(unknown)}`);
  const functions = adapterRunnerOf(runner, 'describeAdapter');
  const driven = 'open' in target ? target : inProcess(target);
  const { impossible = {} } = driven;
  functions.describe(`the adapter of ${driven.name}`, () => {
    const suite = suiteFor(driven, options, functions);
    const define = (some: readonly ContractPart[]) => (): void => {
      for (const scenarios of some.flatMap((part) => PARTS[part])) scenarios(suite);
    };
    checkNames(impossible, titlesOf(define(contractParts)));
    // Longer than any scenario takes on a slow machine: the limits of runners are a few seconds.
    const timeoutMs = (options.effort ?? 1) > 1 ? 3_600_000 : 120_000;
    defineScenarios(functions, impossible, timeoutMs, define(parts));
  });
}

function checkNames(impossible: Readonly<Record<string, string>>, titles: readonly string[]): void {
  for (const [named, reason] of Object.entries(impossible)) {
    if (!titles.some((title) => isNamed(title, named)))
      throw new Error(`no scenario is called "${named}", which is said to be impossible (${reason})`);
  }
}
