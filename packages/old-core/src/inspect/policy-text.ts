import type { FactoryOption } from '../algorithms/algorithm.ts';
import { algorithms, type Policy } from '../algorithms/index.ts';
import { algorithmOf } from '../algorithms/registry.ts';

export type { FactoryOption };

/** A function that creates policies. */
export interface PolicyFactory {
  readonly name: string;
  /** Checks the options, which may have any form. Throws PolicyError. */
  readonly make: (options: Readonly<Record<string, unknown>>) => Policy;
  /** Its options except `name`. */
  readonly options: Readonly<Record<string, FactoryOption>>;
}

/** Every function that creates policies. */
export const policyFactories: readonly PolicyFactory[] = algorithms.flatMap(({ name, factory }) =>
  factory === undefined ? [] : [{ name, make: factory.make as PolicyFactory['make'], options: factory.options }],
);

/** A policy as short text, without options that have their default. */
export function writtenPolicy(policy: Policy): string {
  return algorithmOf(policy).written(policy);
}
