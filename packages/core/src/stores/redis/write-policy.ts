import type { NamedPolicy } from '../../policy.ts';
import type { Limit } from '../store.ts';

/** A policy as frame/policy.lua reads it. Notes the kind of its algorithm. */
export function writePolicy({ algorithm, policy }: NamedPolicy, needed: Set<string>): readonly string[] {
  needed.add(algorithm.kind);
  return [algorithm.kind, ...algorithm.numbers(policy).map(String)];
}

/** How long a key is kept that is over, so that a server's clock that steps back finds what it left: a window, a minute at most. */
export function keptMs({ policies }: Limit): number {
  return Math.min(Math.max(...policies.map(({ windowMs }) => windowMs)), 60_000);
}
