/** What came of a request for units. */
export type Outcome = 'allowed' | 'denied' | 'blocked' | 'unconfigured' | 'unavailable';

/** Who decided: the store, or what stood in for it. */
export type DecisionSource = 'memory' | 'redis' | 'cache' | 'lease' | 'split' | 'local' | 'remote' | 'none';

/** What one policy says of its key. In a request that was refused, as things stand without it. */
export interface PolicyDecision {
  readonly name: string;
  /** Whether this policy would have admitted the request. */
  readonly allowed: boolean;
  /** Units that can be had at once: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /** Units that this policy would admit right now; with overdraft whole ones, at least 0. */
  readonly remaining: number;
  /** Until this policy admits the same cost; 0 when it does, null when it never can. */
  readonly retryAfterMs: number | null;
  /** Until this policy's state is as if never used. */
  readonly resetAfterMs: number;
  /** Pacing: how long this policy asks to wait. */
  readonly delayMs: number;
  /** The window, or the time that fills the bucket. */
  readonly windowMs: number;
  /** Until one more unit than `remaining` can be had; null when there is no more to have. */
  readonly nextAfterMs: number | null;
  /**
   * Set where units are not spent, but held until the request is over. Nobody knows when somebody's is: `retryAfterMs` is
   * the latest then.
   */
  readonly unit?: 'concurrent-requests';
}

/** The answer to one request for units. Refusals are answers too; only what is broken throws. */
export interface Decision {
  readonly allowed: boolean;
  readonly outcome: Outcome;
  /**
   * The policy that decided: when allowed the one with the smallest share of its limit left, when refused the one with
   * the longest wait.
   */
  readonly policy: string;
  readonly cost: number;
  /** Units that can be had at once from the policy that decided: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /**
   * Units that would be admitted right now, by every policy. A policy of 10 per second that has admitted 6 in this
   * second answers 4.
   */
  readonly remaining: number;
  /**
   * Until this same cost is admitted, were nobody else to ask; 0 when allowed; null when it never can be, or (outcome
   * `unavailable`, `unconfigured`) when nobody knows.
   */
  readonly retryAfterMs: number | null;
  /** Until the key is as if never used, not blocked, and (with `escalate`) its refusals are forgotten. */
  readonly resetAfterMs: number;
  /** Pacing: wait this long before going on. */
  readonly delayMs: number;
  /** Who decided: the store, or (`local`, `none`) what stood in for it. */
  readonly source: DecisionSource;
  /** The store's instant of the decision, in milliseconds since 1970 by the store's clock. */
  readonly atMs: number;
  /** One per policy, in the order in which the limiter was given them; none when the outcome is `unavailable` or `unconfigured`. */
  readonly policies: readonly PolicyDecision[];
}

/**
 * The {@link Decision} over several policies, of which all must allow.
 *
 * @param ifTaken - For a peek that would be admitted, the policies as they would stand then: they say who decides, so
 * that a peek names the same policy as a consume.
 */
export function combine(
  policies: readonly PolicyDecision[],
  facts: {
    readonly cost: number;
    readonly blocked: boolean;
    readonly source: DecisionSource;
    readonly atMs: number;
    /** Until refusals that are remembered are forgotten. */
    readonly forgottenAfterMs?: number;
  },
  ifTaken: readonly PolicyDecision[] = policies,
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
  const { name, limit, retryAfterMs } = allowed ? leastLeft(ifTaken) : longestWait(policies);
  return {
    allowed,
    outcome: facts.blocked ? 'blocked' : allowed ? 'allowed' : 'denied',
    policy: name,
    cost: facts.cost,
    limit,
    remaining,
    retryAfterMs,
    resetAfterMs: Math.max(resetAfterMs, facts.forgottenAfterMs ?? 0),
    delayMs: allowed ? delayMs : 0,
    source: facts.source,
    atMs: facts.atMs,
    policies,
  };
}

/** What {@link combine} makes of one policy, of a key that is not blocked. */
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
    policies: [policy],
  };
}

/** The first of those that have the smallest share of their limit left. */
function leastLeft(policies: readonly PolicyDecision[]): PolicyDecision {
  return policies.reduce((least, policy) =>
    policy.remaining / policy.limit < least.remaining / least.limit ? policy : least,
  );
}

/** The first of those with the longest wait; never is the longest. */
function longestWait(policies: readonly PolicyDecision[]): PolicyDecision {
  return policies.reduce((longest, policy) =>
    (policy.retryAfterMs ?? Infinity) > (longest.retryAfterMs ?? Infinity) ? policy : longest,
  );
}

/**
 * A decision that admits with a delay as a refusal: by those policies that ask to wait, until the wait would be over. What
 * else they say stays as it was.
 */
export function turnedAway({ policies, cost, source, atMs }: Decision): Decision {
  const refused = policies.map((policy) =>
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
  return combine(refused, { cost, blocked: false, source, atMs });
}

/**
 * The decision when nothing could be decided, because the store failed or the policy is not there: nothing is known, so
 * nothing is claimed.
 */
export function undecided(
  outcome: 'unavailable' | 'unconfigured',
  allowed: boolean,
  cost: number,
  policy: string,
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
    policies: [],
  };
}
