import { countsDenials } from '../engine/policy.ts';
import { currentOf, isSource, type LimitFeed, type LimitRef, type LimitSource } from '../engine/limit-source.ts';
import type { Part } from '../engine/store.ts';

/** A part of a request, before its limit is looked up. */
export interface UnresolvedPart extends Omit<Part, 'limit'> {
  readonly limit: LimitRef;
}

/** The parts of a request after their limits are looked up. */
export interface Resolved {
  /** The requested parts that are decided: all except those whose limit is missing and allows then. */
  readonly requested: readonly UnresolvedPart[];
  /** The same parts with their current limits. */
  readonly parts: readonly Part[];
  /** The first missing limit that denies then, or else the first that was left out. */
  readonly missing: LimitSource | undefined;
}

/** Whether a request that this limit denies counts there, by the policies that it has now. */
export function countsDenialsNow(limit: LimitRef): boolean {
  const current = currentOf(limit);
  return current !== undefined && countsDenials(current);
}

/** Whether no limit has to be looked up: the usual case. */
export function areResolved(unresolved: readonly UnresolvedPart[]): unresolved is readonly Part[] {
  for (const { limit } of unresolved) if (isSource(limit)) return false;
  return true;
}

/** The feeds that have not been read yet, and that some part needs. */
export function unreadFeeds(unresolved: readonly UnresolvedPart[]): readonly LimitFeed[] {
  const feeds = new Set<LimitFeed>();
  for (const { limit } of unresolved) {
    if (isSource(limit) && limit.feed?.isLoaded === false) feeds.add(limit.feed);
  }
  return [...feeds];
}

/** Looks up the current limits. */
export function resolve(unresolved: readonly UnresolvedPart[]): Resolved {
  const decided: UnresolvedPart[] = [];
  const parts: Part[] = [];
  let missing: LimitSource | undefined;
  for (const part of unresolved) {
    const { limit } = part;
    const current = isSource(limit) ? limit.current(part.subject) : limit;
    if (current !== undefined) {
      decided.push(part);
      parts.push({ ...part, limit: current });
    } else if (missing?.onMissing !== 'deny') {
      const source = limit as LimitSource;
      if (missing === undefined || source.onMissing === 'deny') missing = source;
    }
  }
  return { requested: decided, parts, missing };
}

/**
 * The parts of a stale request, with the limits that the states of their keys need.
 *
 * @param found - For each part the version of its state.
 * @param timeoutMs - How long the feeds may take.
 * @param isSettlement - Whether consumed units are settled. Units that a change has reset since are not.
 * @returns Undefined if some limit is missing now.
 * @throws (rejects) the errors of the feeds.
 */
export async function renewParts(
  parts: readonly Part[],
  found: readonly (number | undefined)[],
  timeoutMs: number,
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
            : await policyVersion.renew(
                part.subject,
                found[i],
                isSettlement ? policyVersion.version : undefined,
                timeoutMs,
              ),
      };
    }),
  );
  return again.every((part): part is Part => part.limit !== undefined) ? again : undefined;
}
