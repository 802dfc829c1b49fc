import type { Limit, Part } from '../stores/store.ts';
import type { Definitions } from './definitions.ts';
import { ManagedLimit } from './managed-limit.ts';

/** A limit, or one that is looked up when it is asked for. */
export type AskedLimit = Limit | ManagedLimit;

/** What is asked of one key, before it is known what limits it. */
export interface AskedPart extends Omit<Part, 'limit'> {
  readonly limit: AskedLimit;
}

/** What is to be asked of the store. */
export interface Resolved {
  /** Those of the parts asked for that are decided: all, but for those whose policy is not there and that says to allow then. */
  readonly asked: readonly AskedPart[];
  /** The same, with the limits as things stand. */
  readonly parts: readonly Part[];
  /** The first limit whose policy is not there, and that says to deny then: or else the first that was left out. */
  readonly unconfigured: ManagedLimit | undefined;
}

/** Whether nothing has to be looked up: the usual case. */
export function isPlain(asked: readonly AskedPart[]): asked is readonly Part[] {
  for (const { limit } of asked) if (limit instanceof ManagedLimit) return false;
  return true;
}

/** The sources that have not answered yet, so that nothing is known of some part. */
export function unknownSources(asked: readonly AskedPart[]): readonly Definitions[] {
  const sources = new Set<Definitions>();
  for (const { limit } of asked) {
    if (limit instanceof ManagedLimit && !limit.definitions.isLoaded) sources.add(limit.definitions);
  }
  return [...sources];
}

/** Looks the limits up, as things stand. */
export function resolve(asked: readonly AskedPart[]): Resolved {
  const decided: AskedPart[] = [];
  const parts: Part[] = [];
  let unconfigured: ManagedLimit | undefined;
  for (const part of asked) {
    const { limit } = part;
    const current = limit instanceof ManagedLimit ? limit.current() : limit;
    if (current !== undefined) {
      decided.push(part);
      parts.push({ ...part, limit: current });
    } else if (unconfigured?.onUnconfigured !== 'deny') {
      const missing = limit as ManagedLimit;
      if (unconfigured === undefined || missing.onUnconfigured === 'deny') unconfigured = missing;
    }
  }
  return { asked: decided, parts, unconfigured };
}

/**
 * The parts of a request that was stale, with the limits as the states of their keys call for.
 *
 * @param found - Per part, the version of its state.
 * @param isSettlement - Whether units that were taken are settled: those that a change has forgotten since are not.
 * @returns Undefined when some policy is not there any more.
 * @throws (rejects) as the sources of the policies do.
 */
export async function renewed(
  parts: readonly Part[],
  found: readonly (number | undefined)[],
  isSettlement = false,
): Promise<readonly Part[] | undefined> {
  const again = await Promise.all(
    parts.map(async (part, i) => {
      const { edition } = part.limit;
      return {
        ...part,
        limit:
          edition?.renew === undefined
            ? part.limit
            : await edition.renew(found[i], isSettlement ? edition.version : undefined),
      };
    }),
  );
  return again.every((part): part is Part => part.limit !== undefined) ? again : undefined;
}

/** What decisions call the policies of a limit. */
export function namesOf(limit: AskedLimit): readonly string[] {
  return limit instanceof ManagedLimit ? [limit.name] : limit.policies.map(({ name }) => name);
}
