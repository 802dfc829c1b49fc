import { invalidOption, type OptionTable, valueThat } from '@sluice/old-core/spi';
import { wholeNumber } from '../values/whole-number.ts';
import type { AskMembers, PollSettings } from './poller.ts';

/** Options of {@link pollMembership}. */
export interface PollMembershipOptions {
  /** The id of this instance among the members that the registry lists. */
  id: string;
  /**
   * Asks the registry for the members: the weight of each, a whole number from 1 to 1 000 000, by its id. Rejects if
   * the registry does not say; no members are no answer. The signal is aborted after half of `ttlMs`.
   */
  members: AskMembers;
  /** Milliseconds from one request to the next, varied by a tenth; at least 10. Default 1000. */
  everyMs?: number;
  /**
   * How long an answer counts, in milliseconds from when it was asked for: at least twice `everyMs`. Then this instance
   * has no share until the registry answers, and its share is due again. Default three times `everyMs`.
   */
  ttlMs?: number;
}

/** A day. */
const LONGEST_MS = 86_400_000;

export const POLL_MEMBERSHIP: OptionTable<PollSettings & { readonly members: AskMembers }> = {
  id: memberId,
  members: valueThat(
    (given) => typeof given === 'function',
    'a function that returns the weight of each member by its id',
  ),
  everyMs: (given = 1000, name) => wholeNumber(given, name, 'milliseconds', { least: 10, most: LONGEST_MS }),
  ttlMs: (given, name, { everyMs: every }) => ttlMs(given ?? 3 * every, name, every),
};

/** The id of an instance in a registry. */
export function memberId(given: unknown, name: string): string {
  if (typeof given === 'string' && given !== '') return given;
  throw invalidOption(name, 'the id of this instance among the members, a text that is not empty', given);
}

/** How long an answer counts: a lost one must leave time for another. */
export function ttlMs(given: unknown, name: string, every: number): number {
  return wholeNumber(given, name, 'milliseconds', { least: 2 * every, most: LONGEST_MS });
}
