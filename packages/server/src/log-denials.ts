import type { Policy } from '@sluice/old-core';
import { writtenPolicy } from '@sluice/old-core/inspect';
import { detached, eachPolicy, watchDecisions, writtenDuration, type LimitRef } from '@sluice/old-core/spi';

/** How many keys are logged in a minute: beyond that denials are counted. */
const MOST_LOGGED = 100;
const MINUTE_MS = 60_000;
const LONGEST_KEY = 256;

/** A denied key, and the policy that denied it. */
export interface Denial {
  readonly limit: LimitRef;
  readonly subject: string;
  /** As the caller gave it. */
  readonly key: string;
  readonly policyName: string;
  /** Its numbers; undefined where they are not known. */
  readonly policy: Policy | undefined;
  readonly outcome: 'denied' | 'blocked';
  /** Until the same request is allowed. Null: it never is. */
  readonly retryAfterMs: number | null;
}

/** The first denial of each key in a minute. Holds at most a hundred keys. */
export class FirstDenials {
  readonly #log: (line: string) => void;
  readonly #logged = new Map<LimitRef, Set<string>>();
  #count = 0;
  #others = 0;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  /** Whether a denial begins to be counted, or is of a key that was logged: then there is nothing to do. */
  isKnown(limit: LimitRef, subject: string): boolean {
    return this.#logged.get(limit)?.has(subject) === true;
  }

  add(denial: Denial): void {
    const { limit, subject } = denial;
    if (this.isKnown(limit, subject)) return;
    if (this.#count === MOST_LOGGED) {
      this.#others++;
      return;
    }
    this.#count++;
    const subjects = this.#logged.get(limit) ?? new Set();
    this.#logged.set(limit, subjects.add(subject));
    this.#log(written(denial));
  }

  /** Ends a minute. */
  turn(): void {
    if (this.#others > 0) {
      this.#log(`and ${String(this.#others)} denials of other keys in that minute, which are not logged`);
    }
    this.#logged.clear();
    this.#count = this.#others = 0;
  }
}

/**
 * Logs the first denial of a key in each minute, with its limit.
 *
 * @param core - The limiter whose decisions are logged.
 * @param isShadow - Whether denials by a limit are only noted, and deny no request.
 * @returns A function that stops logging.
 */
export function logDenials(
  core: object,
  isShadow: (limit: LimitRef) => boolean,
  log: (line: string) => void,
): () => void {
  const denials = new FirstDenials(log);
  let timer: NodeJS.Timeout | undefined;
  const turn = (): void => {
    timer = undefined;
    denials.turn();
  };
  const stop = watchDecisions((published) => {
    const { op, decision } = published.message;
    if (decision.allowed || op === 'peek' || published.core !== core) return;
    const { outcome, policy: policyName, retryAfterMs } = decision;
    if (outcome !== 'denied' && outcome !== 'blocked') return; // not because of its key
    let isFound = false;
    eachPolicy(published, ({ name }, { limit, subject, key = subject }, named) => {
      if (isFound || name !== policyName) return;
      isFound = true;
      if (denials.isKnown(limit, subject) || isShadow(limit)) return;
      timer ??= detached(() => setTimeout(turn, MINUTE_MS).unref());
      denials.add({ limit, subject, key, policyName, policy: named.policy as Policy, outcome, retryAfterMs });
    });
  });
  return () => {
    stop();
    clearTimeout(timer);
  };
}

function written({ key, policyName, policy, outcome, retryAfterMs }: Denial): string {
  const shown = key.length > LONGEST_KEY ? `${JSON.stringify(key.slice(0, LONGEST_KEY))}...` : JSON.stringify(key);
  const numbers = policy === undefined ? '' : ` (${writtenPolicy(policy)})`;
  const until =
    retryAfterMs === null ? '' : `, for ${writtenDuration(Math.max(1, Math.ceil(retryAfterMs / 1_000)) * 1_000)}`;
  return `${shown} is ${outcome} by ${policyName}${numbers}${until}`;
}
