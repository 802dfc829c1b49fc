import type { Policy } from '@sluice/old-core';
import { policyFactories } from '@sluice/old-core/inspect';
import { writtenDuration } from '@sluice/old-core/spi';
import { PageProblem } from './exchange.ts';

const LONGEST_VALUE = 40;

/** The options from which a policy can be made again; none for one that is made in another way. */
export function optionsOf(policy: Policy): Readonly<Record<string, string>> {
  const values = policy as unknown as Readonly<Record<string, unknown>>;
  const factory = policyFactories.find(({ name }) => name === policy.algorithm);
  return Object.fromEntries(
    Object.keys(factory?.options ?? {}).flatMap((name) => {
      const ms = values[`${name}Ms`];
      const value = values[name] ?? (typeof ms === 'number' ? writtenDuration(ms) : undefined);
      const isValue = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean';
      return isValue ? [[name, String(value)]] : [];
    }),
  );
}

/**
 * The policy with other options, as texts.
 *
 * @throws PageProblem 400; PolicyError for wrong values.
 */
export function withOptions(policy: Policy, given: unknown): Policy {
  const factory = policyFactories.find(({ name }) => name === policy.algorithm);
  if (factory === undefined) throw new PageProblem(400, 'this kind of policy is changed with `sluice policy put`');
  if (typeof given !== 'object' || given === null) throw new PageProblem(400, 'options must be an object');
  const options = Object.entries({ ...optionsOf(policy), ...given }).map(([name, value]: [string, unknown]) => {
    if (typeof value === 'string' && value.length <= LONGEST_VALUE) return [name, valueOf(value.trim())] as const;
    throw new PageProblem(400, `the option ${JSON.stringify(name.slice(0, LONGEST_VALUE))} must be a short text`);
  });
  return factory.make(Object.fromEntries(options));
}

/** A value as a program writes it. */
function valueOf(text: string): unknown {
  if (text === 'true' || text === 'false') return text === 'true';
  return /^\d+$/.test(text) ? Number(text) : text;
}
