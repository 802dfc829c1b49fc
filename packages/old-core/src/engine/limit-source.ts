import { holdsSlots } from './policy.ts';
import type { Limit } from './store.ts';

/**
 * Where the numbers of a limit come from when they are not fixed: they change while the process runs, and may differ
 * between subjects. Kinds do not differ: policies that hold slots, pace or count denials do so for every subject.
 */
export interface LimitSource {
  /** The name of its policy in decisions. */
  readonly name: string;
  /** The end of its keys, for every subject and whatever the numbers: `sourceKeySuffix`. */
  readonly keySuffix: string;
  /** What happens to a request for which there is no limit. */
  readonly onMissing: OnUnconfigured;
  /** Where it reads them from. Absent: nothing has to be read before the first decision. */
  readonly feed?: LimitFeed;
  /**
   * The limit of a subject at present, undefined if there is none. Called for every request, so it looks up and makes
   * nothing. As long as the numbers of a subject are the same, so is the object, and subjects with equal numbers share
   * it: denials are cached by it, and it says once what a batch sends for all of its keys.
   *
   * @param subject - Encoded: see `encodeSubject`. Absent: a subject without numbers of its own.
   */
  current(subject?: string): Limit | undefined;
}

/** What sources read their limits from. Many sources may share one. */
export interface LimitFeed {
  /** Whether it has been read since it is followed. */
  readonly isLoaded: boolean;
  /** The error of the last attempt, if it failed: it is read again in the background, and no decision waits for it. */
  readonly failure: unknown;
  /** Resolves when it has been read, and rejects when that fails, or takes longer: with `SLUICE_STORE_TIMEOUT`. */
  loaded(timeoutMs: number): Promise<void>;
  /** A limiter that uses it opens: the first one makes it follow what changes. */
  enter(): void;
  /** A limiter that uses it closes. */
  leave(): Promise<void>;
}

/** What happens to a request whose policy does not exist, or does not list this application. */
export type OnUnconfigured = 'allow' | 'deny';

/** A limit, or where it comes from for each request. */
export type LimitRef = Limit | LimitSource;

/** Whether a limit is looked up for each request. */
export function isSource(limit: LimitRef): limit is LimitSource {
  return 'current' in limit;
}

/** The limit of a subject at present. Undefined if there is none, or it is not known yet. */
export function currentOf(limit: LimitRef, subject?: string): Limit | undefined {
  if (!isSource(limit)) return limit;
  return limit.feed?.isLoaded === false ? undefined : limit.current(subject);
}

/** The names of a limit's policies in decisions. */
export function namesOf(limit: LimitRef): readonly string[] {
  return isSource(limit) ? [limit.name] : limit.policies.map(({ name }) => name);
}

/** Whether decisions by a limit may make a request wait. A limit that changes may become one that does. */
export function mayPace(limit: LimitRef): boolean {
  return isSource(limit) || paces(limit);
}

/** Whether they do at present. */
export function paces(limit: LimitRef): boolean {
  return currentOf(limit)?.policies.some(({ algorithm }) => algorithm.paces === true) === true;
}

/** Whether decisions by a limit may hold slots. A limit that changes may become one that does. */
export function mayHoldSlots(limit: LimitRef): boolean {
  return isSource(limit) || holdsSlots(limit.policies);
}
