import { describePolicy, type Policy } from '@sluice/core';
import { compile } from '@sluice/core/spi';
import { UsageError } from '../failure.ts';
import { POLICY_EXAMPLE, readPolicyText } from '../policy-text.ts';
import type { KeySpec } from './key.ts';

/** A policy, and the key that it counts by. */
export interface CandidateLimit {
  readonly policy: Policy;
  readonly key: KeySpec;
}

/** A candidate to replay a log against: limits that are decided together, all of which must allow. */
export interface Candidate {
  /** The text for a person to read. */
  readonly text: string;
  readonly limits: readonly CandidateLimit[];
}

/**
 * The candidate in a text such as `fixedWindow --limit 100 --window 1m`. Limits that are decided together are joined by
 * a plus: `fixedWindow --limit 10 --window 1s + fixedWindow --limit 100 --window 1m --key all`.
 *
 * @param clients - The key of limits without `--key`.
 * @throws UsageError.
 */
export function readCandidate(text: string, clients: KeySpec, keyOf: (text: string) => KeySpec): Candidate {
  const limits = ` ${text} `.split(/\s\+(?=\s)/).map((part): CandidateLimit => {
    if (part.trim() === '') {
      const expected = `--policy must be a policy such as ${POLICY_EXAMPLE}, or several with ' + ' between them`;
      throw new UsageError(`${expected}, got ${JSON.stringify(text)}`);
    }
    const { policy, others } = readPolicyText(part, ['key']);
    if (compile(policy).holds) {
      const why = 'concurrency holds a slot until it is released, which a log does not show';
      throw new UsageError(`--policy ${JSON.stringify(text)}: ${why}; a limit over time can be tried`);
    }
    return { policy, key: others['key'] === undefined ? clients : keyOf(others['key']) };
  });
  const written = limits.map(({ policy, key }) => {
    return `${describePolicy(policy)}${key.text === clients.text ? '' : ` by ${key.text}`}`;
  });
  return { text: written.join(' and '), limits };
}
