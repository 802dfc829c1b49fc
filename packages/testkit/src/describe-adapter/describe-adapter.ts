import { describe } from '@jest/globals';
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
import { inProcess, type ContractTarget } from './contract-target.ts';
import { defineScenarios, isNamed, titlesOf } from './scenario.ts';
import { suiteFor, type Suite } from './suite.ts';

/** A part of the contract: a file each, so that several processes share the work. */
export type ContractPart = 'answers' | 'keys' | 'counting' | 'waiting';

/** The scenarios, in parts of about equal duration. */
const PARTS: Readonly<Record<ContractPart, readonly ((suite: Suite) => void)[]>> = {
  answers: [headerVectors, noFields, options, denials, reportMode, lists, cors, parsers, retryingClients],
  keys: [stackedLimits, spellings, methods, preflights, addresses, keys, severalLimits],
  counting: [costs, races, refunds, failures, escalatedLimits, managedPolicies],
  waiting: [pacing, slots, abortedSlots, aborts],
};

export const contractParts: readonly ContractPart[] = Object.keys(PARTS) as ContractPart[];

/**
 * The contract of every adapter, over real HTTP: the responses byte for byte, the options, and limits that no form of
 * a request escapes.
 *
 * @param target - A target in this process, or one that is a program.
 * @param parts - Default: all of it.
 * @throws Error where the table of what is impossible names a scenario that does not exist.
 */
export function describeAdapter(
  target: AdapterTarget | ContractTarget,
  parts: readonly ContractPart[] = contractParts,
): void {
  const driven = 'open' in target ? target : inProcess(target);
  const { impossible = {} } = driven;
  describe(`the adapter of ${driven.name}`, () => {
    const suite = suiteFor(driven);
    const define = (some: readonly ContractPart[]) => (): void => {
      for (const scenarios of some.flatMap((part) => PARTS[part])) scenarios(suite);
    };
    checkNames(impossible, titlesOf(define(contractParts)));
    defineScenarios(impossible, define(parts));
  });
}

function checkNames(impossible: Readonly<Record<string, string>>, titles: readonly string[]): void {
  for (const [named, reason] of Object.entries(impossible)) {
    if (!titles.some((title) => isNamed(title, named)))
      throw new Error(`no scenario is called "${named}", which is said to be impossible (${reason})`);
  }
}
