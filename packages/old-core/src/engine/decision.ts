import type { Verdict } from '../algorithms/algorithm.ts';
import type { NamedPolicy } from './policy.ts';

/** The outcome of a request for units. */
export type Outcome = 'allowed' | 'denied' | 'blocked' | 'unconfigured' | 'unavailable';

/** The source of a decision: the store, or its replacement. */
export type DecisionSource = 'memory' | 'redis' | 'cache' | 'split' | 'local' | 'remote' | 'none';

/** The decision of one policy. In a denied request, the numbers are those without the request. */
export interface PolicyDecision {
  readonly name: string;
  /** Whether this policy would have allowed the request. */
  readonly allowed: boolean;
  /** Units that can be had at once: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /** Units that this policy would allow right now; with overdraft whole ones, at least 0. */
  readonly remaining: number;
  /** Until this policy allows the same cost; 0 when it does, null when it never can. */
  readonly retryAfterMs: number | null;
  /** Until this policy's state is as if the key had never been used. */
  readonly resetAfterMs: number;
  /** Pacing: how long this policy asks to wait. */
  readonly delayMs: number;
  /** The window, or the time that fills the bucket. */
  readonly windowMs: number;
  /** Until one more unit than `remaining` can be had; null when there is no more to have. */
  readonly nextAfterMs: number | null;
  /**
   * Units used after the decision. After a policy of 10 has allowed 6, it is 6. A bucket's debt and the estimate of a
   * sliding counter are rounded up; a leaky bucket states the units in its line, `concurrency` the slots held, split
   * limits `limit - remaining`. Above `limit` after an overdraft, a charge, or a lowered limit.
   */
  readonly used: number;
  /**
   * Set where units are held until the request ends, and not spent. `retryAfterMs` is the latest instant then,
   * because the end of a request is not known.
   */
  readonly unit?: 'concurrent-requests';
  /** `false` where a store of your own cannot tell when units come back: header fields then leave `t` out. */
  readonly isResetKnown?: false;
}

/** The decision on one request for units. A denial is a decision too; only what is broken throws. */
export interface Decision {
  readonly allowed: boolean;
  readonly outcome: Outcome;
  /**
   * The policy that decided: when allowed the one with the smallest share of its limit left, when denied the one with
   * the longest wait.
   */
  readonly policy: string;
  readonly cost: number;
  /** Units that can be had at once from the policy that decided: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /**
   * Units that every policy would allow right now. After a policy of 10 per second has allowed 6 in this second, it
   * is 4.
   */
  readonly remaining: number;
  /**
   * Until this same cost is allowed if no other request comes; 0 when allowed; null when it never can be, or is not
   * known (outcome `unavailable`, `unconfigured`).
   */
  readonly retryAfterMs: number | null;
  /** Until the key is as if never used, not blocked, and (with `escalate`) its denials have expired. */
  readonly resetAfterMs: number;
  /** Pacing: wait this long before going on. */
  readonly delayMs: number;
  /** The source of the decision: the store, or (`local`, `none`) its replacement. */
  readonly source: DecisionSource;
  /** The store's instant of the decision, in milliseconds since 1970 by the store's clock. */
  readonly atMs: number;
  /**
   * Units of the policy that decided that are used after the decision: see {@link PolicyDecision}. 0 without a store.
   */
  readonly used: number;
  /**
   * Why the store did not decide: set where the outcome is `unavailable`, or the source `local`. For logs; no response
   * contains it.
   */
  readonly error?: Error;
  /**
   * One per policy, in the order in which the limiter was given them; none when the outcome is `unavailable` or
   * `unconfigured`.
   */
  readonly policies: readonly PolicyDecision[];
}

/**
 * The {@link Decision} over several policies, of which all must allow.
 *
 * @param ifConsumed - For a peek that would be allowed, the policies after the consume: they select the deciding
 * policy, so that a peek names the same one as a consume.
 */
export function combine(
  policies: readonly PolicyDecision[],
  facts: {
    readonly cost: number;
    readonly blocked: boolean;
    readonly source: DecisionSource;
    readonly atMs: number;
    /** Until the counted denials expire. */
    readonly forgottenAfterMs?: number;
  },
  ifConsumed: readonly PolicyDecision[] = policies,
): Decision {
  const first = policies[0];
  if (first === undefined) throw new RangeError('a decision needs at least one policy');
  let { allowed, remaining, resetAfterMs, delayMs } = first;
  for (let i = 1; i < policies.length; i++) {
    const policy = policies[i] as PolicyDecision;
    allowed &&= policy.allowed;
    remaining = Math.min(remaining, policy.remaining);
    resetAfterMs = Math.max(resetAfterMs, policy.resetAfterMs);
    delayMs = Math.max(delayMs, policy.delayMs);
  }
  const deciding = policies[allowed ? leastLeft(ifConsumed) : longestWait(policies)] as PolicyDecision;
  return {
    allowed,
    outcome: facts.blocked ? 'blocked' : allowed ? 'allowed' : 'denied',
    policy: deciding.name,
    cost: facts.cost,
    limit: deciding.limit,
    remaining,
    retryAfterMs: deciding.retryAfterMs,
    resetAfterMs: Math.max(resetAfterMs, facts.forgottenAfterMs ?? 0),
    delayMs: allowed ? delayMs : 0,
    source: facts.source,
    atMs: facts.atMs,
    used: deciding.used,
    policies,
  };
}

/**
 * The figures of one policy in a decision.
 *
 * @param shiftMs - As of an instant that is earlier by this much: see {@link shifted}.
 */
export function decisionOf(
  { name, windowMs, algorithm: { unit } }: NamedPolicy,
  verdict: Verdict,
  shiftMs: number = 0,
): PolicyDecision {
  const { allowed, retryAfterMs, resetAfterMs, nextAfterMs } = verdict;
  const decision = {
    name,
    allowed,
    limit: verdict.limit,
    remaining: verdict.remaining,
    retryAfterMs: allowed || retryAfterMs === null ? retryAfterMs : retryAfterMs + shiftMs,
    resetAfterMs: resetAfterMs === 0 ? 0 : resetAfterMs + shiftMs,
    delayMs: verdict.delayMs,
    windowMs,
    nextAfterMs: nextAfterMs === null ? null : nextAfterMs + shiftMs,
    used: verdict.used,
  };
  return unit === undefined ? decision : { ...decision, unit };
}

/** The input of {@link combine} for one policy of a key that is not blocked. */
export function decisionOfOne(policy: PolicyDecision, cost: number, source: DecisionSource, atMs: number): Decision {
  return {
    allowed: policy.allowed,
    outcome: policy.allowed ? 'allowed' : 'denied',
    policy: policy.name,
    cost,
    limit: policy.limit,
    remaining: policy.remaining,
    retryAfterMs: policy.retryAfterMs,
    resetAfterMs: policy.resetAfterMs,
    delayMs: policy.allowed ? policy.delayMs : 0,
    source,
    atMs,
    used: policy.used,
    policies: [policy],
  };
}

/** A policy's decision as of an instant that is earlier by this much, with waits longer by as much. */
export function shifted(policy: PolicyDecision, ms: number): PolicyDecision {
  const { retryAfterMs, resetAfterMs, nextAfterMs } = policy;
  return {
    ...policy,
    retryAfterMs: policy.allowed ? 0 : later(retryAfterMs, ms),
    resetAfterMs: resetAfterMs === 0 ? 0 : resetAfterMs + ms,
    nextAfterMs: later(nextAfterMs, ms),
  };
}

function later(afterMs: number | null, ms: number): number | null {
  return afterMs === null ? null : afterMs + ms;
}

/** The index of the first of those that have the smallest share of their limit left. */
function leastLeft(policies: readonly PolicyDecision[]): number {
  let index = 0;
  let least = Infinity;
  for (let i = 0; i < policies.length; i++) {
    const { remaining, limit } = policies[i] as PolicyDecision;
    const left = limit === 0 ? 0 : remaining / limit;
    if (left >= least) continue;
    index = i;
    least = left;
  }
  return index;
}

/** The index of the first of those with the longest wait; never is the longest. */
function longestWait(policies: readonly PolicyDecision[]): number {
  let index = 0;
  let longest = -1;
  for (let i = 0; i < policies.length; i++) {
    const waitMs = (policies[i] as PolicyDecision).retryAfterMs ?? Infinity;
    if (waitMs <= longest) continue;
    index = i;
    longest = waitMs;
  }
  return index;
}

/**
 * Turns a decision that allows with a delay into a denial by the policies that delay, until their wait has passed.
 * The other policies stay as they are.
 */
export function deniedForWaiting({ policies, cost, source, atMs, error }: Decision): Decision {
  const denied = policies.map((policy) =>
    policy.delayMs === 0
      ? policy
      : {
          ...policy,
          allowed: false,
          remaining: 0,
          retryAfterMs: policy.delayMs,
          nextAfterMs: policy.delayMs,
          delayMs: 0,
        },
  );
  const denial = combine(denied, { cost, blocked: false, source, atMs });
  return error === undefined ? denial : { ...denial, error };
}

/**
 * The decision without a store or a policy: it states no numbers.
 *
 * @param error - Why the store did not decide.
 */
export function undecided(
  outcome: 'unavailable' | 'unconfigured',
  allowed: boolean,
  cost: number,
  policy: string,
  error?: Error,
): Decision {
  return {
    allowed,
    outcome,
    policy,
    cost,
    limit: 0,
    remaining: 0,
    retryAfterMs: allowed ? 0 : null,
    resetAfterMs: 0,
    delayMs: 0,
    source: 'none',
    atMs: Date.now(),
    used: 0,
    ...(error === undefined ? {} : { error }),
    policies: [],
  };
}
