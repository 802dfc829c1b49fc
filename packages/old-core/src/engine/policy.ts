import type { Policy } from '../algorithms/index.ts';
import { algorithmOf, type AnyAlgorithm } from '../algorithms/registry.ts';
import type { PolicyBase } from '../algorithms/algorithm.ts';
import { PolicyError, shown } from '../errors.ts';
import { parseName } from '../values/name.ts';

export type { Policy };

/** A checked and named policy with its algorithm. */
export interface NamedPolicy {
  readonly name: string;
  readonly algorithm: AnyAlgorithm;
  readonly policy: PolicyBase;
  /** The result of `algorithm.windowMs`. */
  readonly windowMs: number;
}

/** Whether any of these holds its units in slots until they are released: see `concurrency`. */
export function holdsSlots(policies: readonly NamedPolicy[]): boolean {
  return policies.some(({ algorithm }) => algorithm.renew !== undefined);
}

/** Whether any of these has states that grow, of which the value holds a summary: see `slidingLog`. */
export function hasLongStates(policies: readonly NamedPolicy[]): boolean {
  return policies.some(({ algorithm }) => algorithm.summarize !== undefined);
}

/** Whether a policy adds the cost of a request that it denies itself. */
export function countsDenied({ algorithm, policy }: NamedPolicy): boolean {
  return algorithm.countsDenied?.(policy) === true;
}

/** Whether a request that a limit denies counts there: by `escalate`, or by a policy with `countDenied`. */
export function countsDenials({
  escalation,
  policies,
}: {
  readonly escalation?: object | undefined;
  readonly policies: readonly NamedPolicy[];
}): boolean {
  return escalation !== undefined || policies.some(countsDenied);
}

/**
 * The policies of one limiter or limit, checked and named: a single one without a name takes `ownName`, several need
 * names of their own.
 *
 * @throws PolicyError for a value that is not a policy, a missing or bad name, or two names that differ only in case.
 */
export function namePolicies(given: unknown, ownName: string, field = 'policy'): readonly NamedPolicy[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw new PolicyError(field, `${field} must be a policy or a list of them, got an empty list`);
  const named = list.map((item, index) => {
    const where = list.length === 1 ? field : `${field}[${String(index)}]`;
    const { name = list.length === 1 ? ownName : undefined } = (item ?? {}) as Partial<PolicyBase>;
    const checked = namePolicy(item, name ?? ownName, where);
    if (name === undefined) {
      throw new PolicyError(
        `${where}.name`,
        `${where} needs a name: of several policies each has one of its own; write fixedWindow({ name: "burst", ... })`,
      );
    }
    return checked;
  });
  checkDistinct(
    named.map(({ name }) => name),
    `${field}.name`,
  );
  return named;
}

/**
 * Checks one policy, and gives it this name.
 *
 * @throws PolicyError for a value that is not a policy, or a bad name.
 */
export function namePolicy(given: unknown, name: string, field = 'policy'): NamedPolicy {
  const algorithm = algorithmOf(given, field);
  const policy = algorithm.parse(given as PolicyBase);
  return { name: parseName(name, `${field}.name`), algorithm, policy, windowMs: algorithm.windowMs(policy) };
}

/**
 * Checks that names differ without regard to case, as header fields compare them.
 *
 * @throws PolicyError when two are equal.
 */
export function checkDistinct(names: readonly string[], field: string): void {
  const seen = new Map<string, string>();
  for (const name of names) {
    const same = seen.get(name.toLowerCase());
    if (same !== undefined) {
      throw new PolicyError(
        field,
        `names must be unique without regard to case, got ${shown(same)} and ${shown(name)}; give one of them another name`,
      );
    }
    seen.set(name.toLowerCase(), name);
  }
}
