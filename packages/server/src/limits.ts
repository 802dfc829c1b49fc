import { PolicyError, type Policy, type PolicyFunction } from '@sluice/core';
import { readMark, readSubject, type Limit, type LimiterCore, type Want } from '@sluice/core/spi';

/** The policy of a rule: a policy, several named ones, or the function that `managed: NAME` becomes. */
export type RulePolicy = Policy | readonly Policy[] | PolicyFunction;

/**
 * Creates the limit of a rule: `limitFor` of the service's core, or (for `--check`) of a core that decides nothing. The
 * same object gets the same limit.
 *
 * @throws PolicyError for a policy that the store or the core cannot use.
 */
export type MakeLimit = (policy: RulePolicy) => Limit;

/**
 * What a request takes from a rule's limit, for `LimiterCore.decide`.
 *
 * @throws TypeError `SLUICE_KEY_INVALID` for an empty key.
 */
export function makeWant(limit: Limit, key: string, cost: number): Want {
  return { limit, key, subject: readSubject(key), cost, holder: 0, isNamed: false };
}

/** Creates the limits of a configuration with the core that decides over them. */
export function makeLimitMaker(core: LimiterCore): MakeLimit {
  return (policy) => {
    // Core's message mentions a store, which files do not have.
    if (core.store.source === 'memory' && readMark(policy)?.open !== undefined) {
      const what = 'a managed policy is kept in Redis: give --redis (createServer: redis), or write the policy itself';
      throw new PolicyError('managed', what, 'SLUICE_OPTION_INVALID');
    }
    return core.limitFor(policy);
  };
}
