import type { NamedPolicy } from '../../engine/policy.ts';
import type { Limit } from '../../engine/store.ts';

/** Writes a policy as lua/policy.lua reads it, and adds the kind of its algorithm to `needed`. */
export function writePolicy({ algorithm, policy }: NamedPolicy, needed: Set<string>): readonly string[] {
  needed.add(algorithm.kind);
  return [algorithm.kind, ...algorithm.numbers(policy).map(String)];
}

/**
 * How long a key is kept after it ends, so that a server's clock that steps back still finds it: a window, at most a
 * minute.
 */
export function keptMs({ policies }: Limit): number {
  return Math.min(Math.max(...policies.map(({ windowMs }) => windowMs)), 60_000);
}
