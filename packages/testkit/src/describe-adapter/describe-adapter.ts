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
import { races } from './races.ts';
import { refunds } from './refunds.ts';
import { refusals } from './refusals.ts';
import { reportMode } from './report-mode.ts';
import { severalLimits } from './several-limits.ts';
import { abortedSlots } from './slots-aborted.ts';
import { slots } from './slots.ts';
import { spellings } from './spellings.ts';
import { stackedLimits } from './stacked-limits.ts';
import { suiteFor } from './suite.ts';
import type { AdapterTarget } from './target.ts';

/**
 * The contract that every adapter must pass, over real HTTP: the answers byte for byte, the options, and limits that no
 * way of asking escapes.
 */
export function describeAdapter(target: AdapterTarget): void {
  describe(`the adapter of ${target.name}`, () => {
    const suite = suiteFor(target);

    headerVectors(suite);
    noFields(suite);
    stackedLimits(suite);
    spellings(suite);
    methods(suite);
    addresses(suite);
    keys(suite);
    severalLimits(suite);
    costs(suite);
    races(suite);
    refunds(suite);
    pacing(suite);
    lists(suite);
    reportMode(suite);
    options(suite);
    refusals(suite);
    failures(suite);
    escalatedLimits(suite);
    slots(suite);
    abortedSlots(suite);
    managedPolicies(suite);
    aborts(suite);
    cors(suite);
    parsers(suite);
    retryingClients(suite);
  });
}
