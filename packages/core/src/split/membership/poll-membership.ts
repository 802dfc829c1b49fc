import { shown, StoreError } from '../../errors.ts';
import {
  functionThat,
  invalid,
  optional,
  readOptions,
  valueThat,
  withDefault,
  wholeNumber,
} from '../../values/shape.ts';
import type { Field, Optional, Options, Reader, WithDefault } from '../../values/shape.ts';
import { askAgain, type Pace } from './ask-again.ts';
import { localTime, type LocalTime } from './membership-clock.ts';
import type { Membership, Members } from './membership.ts';

/**
 * Asks a registry for the present members: the weight of each by its id, whole numbers from 1 to 1 000 000. Rejects if
 * the registry does not answer.
 *
 * @param signal - Aborted when the answer would be too late, or the store is closed.
 */
export type AskMembers = (signal: AbortSignal) => Members | Promise<Members>;

/** A day. */
export const MAX_PERIOD_MS = 86_400_000;

/** The id of an instance in a registry. */
export const memberId: Reader<string> = /* @__PURE__ */ valueThat(
  (given) => typeof given === 'string' && given !== '',
  'the id of this instance among the members, a non-empty string',
);

/** Milliseconds from one request to the next. */
export const period: Reader<number> = /* @__PURE__ */ wholeNumber(10, MAX_PERIOD_MS, 'a whole number of milliseconds');

const POLL = {
  /** The id of this instance in the registry. */
  id: memberId as Field<string>,
  /**
   * Asks the registry for the members, and returns their weights by id: whole numbers from 1 to 1 000 000. Should
   * reject if the registry does not answer; an empty list counts as no answer. The signal is aborted after half of
   * `ttlMs`.
   */
  members: functionThat('a function that returns the weight of each member by its id') as Field<AskMembers>,
  /** Milliseconds from one request to the next, varied by a tenth; at least 10. Default `1000`. */
  everyMs: withDefault(period, 1000) as WithDefault<number>,
  /**
   * How long an answer is valid, in milliseconds from the request: at least twice `everyMs`. After that, this instance
   * has no share until the registry answers again. Default: three times `everyMs`.
   */
  ttlMs: optional(period) as Optional<number>,
};

export interface PollMembershipOptions extends Options<typeof POLL> {}

/** The longest pause while a registry is away. */
const MAX_PAUSE_MS = 10_000;

/**
 * A membership for any registry that lists its members when asked, such as DNS or the Kubernetes API. The shares keep
 * the limit as described for a {@link Confirmation} without time.
 *
 * @throws PolicyError for a bad or unknown option. Nothing is sent before a limiter uses it.
 */
export function pollMembership(options: PollMembershipOptions): Membership {
  const { id, members, everyMs, ttlMs } = readOptions(options, POLL, 'pollMembership');
  return poll(id, members, { everyMs, ttlMs: readTtl(ttlMs, everyMs) }, localTime);
}

export function poll(
  id: string,
  ask: AskMembers,
  { everyMs, ttlMs }: Pick<Pace, 'everyMs' | 'ttlMs'>,
  time: LocalTime,
): Membership {
  return {
    id,
    ttlMs,
    join: (confirmed, failed) =>
      askAgain(
        time,
        { everyMs, ttlMs, maxPauseMs: MAX_PAUSE_MS },
        ask,
        (members, askedAt) => {
          confirmed({ members: checkAnswer(members), ...askedAt });
        },
        failed,
      ),
  };
}

/** How long an answer is valid: a lost request must leave time for another. */
export function readTtl(ttlMs: number | undefined, everyMs: number): number {
  if (ttlMs === undefined || ttlMs >= 2 * everyMs) return ttlMs ?? 3 * everyMs;
  throw invalid('ttlMs', `at least ${String(2 * everyMs)} milliseconds (two requests)`, ttlMs);
}

/** A registry that lists no members has lost them: the last answer stays valid for its time. */
function checkAnswer(members: unknown): Members {
  if (typeof members === 'object' && members !== null && !Array.isArray(members)) {
    if (Object.keys(members).length > 0) return members as Members;
    throw new StoreError('SLUICE_STORE_REPLY_INVALID', 'the registry lists no members');
  }
  const expected = 'an object with the weight of each member by its id';
  throw new StoreError('SLUICE_STORE_REPLY_INVALID', `expected ${expected} from the registry, got ${shown(members)}`);
}
