import { PolicyError, type Policy } from '@sluice/old-core';
import { writtenPolicy } from '@sluice/old-core/inspect';
import { countsDenied, holdsSlots, namePolicies } from '@sluice/old-core/spi';
import { UsageError } from '../terminal/failure.ts';
import { parsedText, policyFrom } from '../terminal/policy-options.ts';
import type { KeySpec } from '../keys/key-spec.ts';
import type { Candidate } from './candidate.ts';

const TOGETHER = "limits that are decided together have ' + ' between them, with its spaces";
const NAME_END = /^(.*?)-?\d*$/;

/**
 * The candidate in a text such as `fixedWindow --limit 100 --window 1m`. Limits that are decided together stand on both
 * sides of a plus: `fixedWindow --limit 10 --window 1s + fixedWindow --limit 100 --window 1m --key all`.
 *
 * @param clients - The key of limits that name none.
 * @throws UsageError.
 */
export function candidateFromText(text: string, clients: KeySpec, keyOf: (text: string) => KeySpec): Candidate {
  const parts = ` ${text} `.split(/\s\+(?=\s)/).map((part) => part.trim());
  if (parts.includes('')) {
    throw new UsageError(
      `--policy must be a policy such as 'fixedWindow --limit 100 --window 1m', or several with ' + ' between them, got ${JSON.stringify(text)}`,
    );
  }
  const limits: { readonly key: KeySpec; readonly policies: Policy[] }[] = [];
  for (const part of parts) {
    const { policy, key: own } = limitFromText(part, text);
    const key = own === undefined ? clients : keyOf(own);
    const same = limits.find((one) => one.key.text === key.text);
    if (same === undefined) limits.push({ key, policies: [policy] });
    else same.policies.push(policy);
  }
  const names = new Set<string>();
  return {
    text: limits
      .map(({ key, policies }) => {
        const written = policies.map((policy) => writtenPolicy(policy)).join(' and ');
        return key.text === clients.text ? written : `${written} by ${key.text}`;
      })
      .join(' and '),
    limits: limits.map(({ key, policies }) => {
      const named = namePolicies(
        policies.map((policy) => ({ ...policy, name: distinct(policy.name ?? policy.algorithm, names) })),
        'limit',
        '--policy',
      );
      if (holdsSlots(named)) {
        throw new UsageError(
          `--policy ${JSON.stringify(text)}: concurrency holds a slot until it is released, and a log does not tell when; a limit over time can be tried`,
        );
      }
      if (named.some(countsDenied)) {
        throw new UsageError(
          `--policy ${JSON.stringify(text)}: what countDenied would count is not tried; leave it out`,
        );
      }
      return { policies: named, key };
    }),
  };
}

function limitFromText(part: string, text: string): { readonly policy: Policy; readonly key: string | undefined } {
  const { kind, options } = parsedText(part, text, TOGETHER, ['--key <key>']);
  try {
    return { policy: policyFrom(kind, options), key: options['key'] as string | undefined };
  } catch (error) {
    if (error instanceof PolicyError || error instanceof UsageError)
      throw new UsageError(`--policy ${JSON.stringify(text)}: ${error.message}`, { cause: error });
    throw error;
  }
}

/**
 * Names of a candidate's policies are distinct: an unnamed one has that of its kind, and a number where there are
 * several.
 */
function distinct(name: string, names: Set<string>): string {
  let found = name;
  for (let i = 2; names.has(found.toLowerCase()); i++) found = `${NAME_END.exec(name)?.[1] ?? name}-${String(i)}`;
  names.add(found.toLowerCase());
  return found;
}
