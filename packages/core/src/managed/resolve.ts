import { countsDenials, holdsSlots } from '../engine/policy.ts';
import type { Limit, Part } from '../engine/store.ts';
import type { PolicyCache } from './policy-cache.ts';
import type { ManagedLimit } from './managed-limit.ts';

/** A limit, or a managed one, which is looked up for each request. */
export type LimitRef = Limit | ManagedLimit;

/** Whether a limit is looked up for each request. */
export function isManaged(limit: LimitRef): limit is ManagedLimit {
  return 'policyCache' in limit;
}

/** A part of a request, before its limit is looked up. */
export interface UnresolvedPart extends Omit<Part, 'limit'> {
  readonly limit: LimitRef;
}

/** The parts of a request after their limits are looked up. */
export interface Resolved {
  /** The requested parts that are decided: all except those whose policy is unconfigured and allows then. */
  readonly requested: readonly UnresolvedPart[];
  /** The same parts with their current limits. */
  readonly parts: readonly Part[];
  /** The first unconfigured limit that denies then, or else the first that was left out. */
  readonly unconfigured: ManagedLimit | undefined;
}

/** Whether a request that this limit denies counts there, by the policies that it has now. */
export function countsDenialsNow(limit: LimitRef): boolean {
  const current = isManaged(limit) ? limit.current() : limit;
  return current !== undefined && countsDenials(current);
}

/** Whether no limit has to be looked up: the usual case. */
export function areResolved(unresolved: readonly UnresolvedPart[]): unresolved is readonly Part[] {
  for (const { limit } of unresolved) if (isManaged(limit)) return false;
  return true;
}

/** The sources that have not been read yet, and that some part needs. */
export function unknownSources(unresolved: readonly UnresolvedPart[]): readonly PolicyCache[] {
  const sources = new Set<PolicyCache>();
  for (const { limit } of unresolved) {
    if (isManaged(limit) && !limit.policyCache.isLoaded) sources.add(limit.policyCache);
  }
  return [...sources];
}

/** Looks up the current limits. */
export function resolve(unresolved: readonly UnresolvedPart[]): Resolved {
  const decided: UnresolvedPart[] = [];
  const parts: Part[] = [];
  let unconfigured: ManagedLimit | undefined;
  for (const part of unresolved) {
    const { limit } = part;
    const current = isManaged(limit) ? limit.current() : limit;
    if (current !== undefined) {
      decided.push(part);
      parts.push({ ...part, limit: current });
    } else if (unconfigured?.onUnconfigured !== 'deny') {
      const missing = limit as ManagedLimit;
      if (unconfigured === undefined || missing.onUnconfigured === 'deny') unconfigured = missing;
    }
  }
  return { requested: decided, parts, unconfigured };
}

/**
 * The parts of a stale request, with the limits that the states of their keys need.
 *
 * @param found - For each part the version of its state.
 * @param isSettlement - Whether consumed units are settled. Units that a change has reset since are not.
 * @returns Undefined if some policy is not configured any more.
 * @throws (rejects) the errors of the sources.
 */
export async function renewParts(
  parts: readonly Part[],
  found: readonly (number | undefined)[],
  isSettlement = false,
): Promise<readonly Part[] | undefined> {
  const again = await Promise.all(
    parts.map(async (part, i) => {
      const { policyVersion } = part.limit;
      return {
        ...part,
        limit:
          policyVersion?.renew === undefined
            ? part.limit
            : await policyVersion.renew(found[i], isSettlement ? policyVersion.version : undefined),
      };
    }),
  );
  return again.every((part): part is Part => part.limit !== undefined) ? again : undefined;
}

/** The names of a limit's policies in decisions. */
export function namesOf(limit: LimitRef): readonly string[] {
  return isManaged(limit) ? [limit.name] : limit.policies.map(({ name }) => name);
}

/** Whether decisions by a limit may make a request wait. A managed policy may become one that does. */
export function mayPace(limit: UnresolvedPart['limit']): boolean {
  return isManaged(limit) || paces(limit);
}

export function paces(limit: UnresolvedPart['limit']): boolean {
  if (!isManaged(limit)) return limit.policies.some(({ algorithm }) => algorithm.paces === true);
  const current = limit.policyCache.isLoaded ? limit.current() : undefined;
  return current !== undefined && paces(current);
}

/** Whether decisions by a limit may hold slots. A managed policy may become one that does. */
export function mayHoldSlots(limit: UnresolvedPart['limit']): boolean {
  return isManaged(limit) || holdsSlots(limit.policies);
}
