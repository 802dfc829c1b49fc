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
import { describe, it } from '@jest/globals';
import { factor } from '../depth.ts';
import type { AdapterUnderTest } from './adapter.ts';
import { isNamed, scenariosOf } from './scenario.ts';
import { suiteFor, type Suite } from './suite.ts';
import { catchWarnings } from './warnings.ts';

/** A part of the contract: a test file each, so that several processes share the work. */
export type ContractPart = 'answers' | 'keys' | 'counting' | 'waiting';

/** The scenarios, in parts of about equal duration. */
const PARTS: Readonly<Record<ContractPart, readonly ((suite: Suite) => void)[]>> = {
  answers: [headerVectors, noFields, options, denials, reportMode, lists, cors, parsers, retryingClients],
  keys: [stackedLimits, spellings, methods, preflights, addresses, keys, severalLimits],
  counting: [costs, races, refunds, failures, escalatedLimits, managedPolicies],
  waiting: [pacing, slots, abortedSlots, aborts],
};

/** The warnings that scenarios of a part provoke. */
const PROVOKED: Readonly<Record<ContractPart, readonly string[]>> = {
  answers: ['SLUICE_KEY_MISSING', 'SLUICE_UNIT_MISSING'],
  keys: ['SLUICE_KEY_MISSING'],
  counting: ['SLUICE_KEY_MISSING'],
  waiting: [],
};

export const contractParts: readonly ContractPart[] = Object.keys(PARTS) as ContractPart[];

/** Longer than any scenario takes on a slow machine: the limits of runners are a few seconds. */
const TIMEOUT_MS = factor > 1 ? 3_600_000 : 120_000;

/**
 * The contract of every adapter, as some 600 tests over real HTTP: the responses byte for byte, the options, and limits
 * that no form of a request escapes. Scenarios run on the memory store and on a real Redis.
 *
 * @param selected - One part of the contract, or scenarios by their titles. Default: all of it.
 * @throws Error where a title names no scenario.
 */
export function describeAdapter(adapter: AdapterUnderTest, selected?: ContractPart | readonly string[]): void {
  describe(`the adapter of ${adapter.name}`, () => {
    const suite = suiteFor(adapter);
    const part = typeof selected === 'string' ? selected : undefined;
    const provoked = part === undefined ? Object.values(PROVOKED).flat() : PROVOKED[part];
    catchWarnings(provoked, part !== undefined && process.env['SLUICE_PART'] === undefined);
    const all = contractParts.flatMap((part) =>
      scenariosOf(() => {
        for (const describes of PARTS[part]) describes(suite);
      }).map((scenario) => ({ part, ...scenario })),
    );
    const impossible = Object.keys(adapter.impossible ?? {});
    const listed = typeof selected === 'object' ? selected : [];
    for (const named of [...impossible, ...listed]) {
      if (!all.some(({ title }) => isNamed(title, named))) throw new Error(`no scenario is called "${named}"`);
    }
    for (const { part, title, run, timeoutMs = TIMEOUT_MS } of all) {
      const isIn = (titles: readonly string[]): boolean => titles.some((named) => isNamed(title, named));
      const isSelected = selected === undefined || selected === part || isIn(listed);
      if (isSelected && !isIn(impossible)) it(title, run, timeoutMs);
    }
  });
}
