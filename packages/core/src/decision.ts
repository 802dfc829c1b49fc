/** The outcome of a request for units. */
export type Outcome = 'allowed' | 'denied' | 'blocked' | 'unconfigured' | 'unavailable';

/**
 * What decided: the store; `cache`, the denials that this process remembers; `local`, its memory while the store is not
 * available; `none`. A store of your own has a name of its own.
 */
export type DecisionSource =
  | 'memory'
  | 'redis'
  | 'cache'
  | 'split'
  | 'local'
  | 'remote'
  | 'postgres'
  | 'mysql'
  | 'sqlite'
  | 'durable-object'
  | 'none'
  | (string & {});

/** The decision of one policy. In a denied request, the numbers are those without the request. */
export interface PolicyDecision {
  readonly name: string;
  /** Whether this policy would have allowed the request. */
  readonly allowed: boolean;
  /** Units that can be had at once: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /** Units that this policy would allow right now; with overdraft whole ones, at least 0. */
  readonly remaining: number;
  /**
   * Units used after the decision. After a policy of 10 has allowed 6, it is 6. A bucket's debt and the estimate of a
   * sliding counter are rounded up; a leaky bucket states the units in its line, `concurrency` the slots held. Above
   * `limit` after an overdraft, a charge, or a lowered limit.
   */
  readonly used: number;
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
   * Set if units are held until the request ends, and not spent. `retryAfterMs` is the latest instant then, because the
   * end of a request is not known.
   */
  readonly unit?: 'concurrent-requests';
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
  /** Units used of the policy that decided: see {@link PolicyDecision}. 0 without a store. */
  readonly used: number;
  /**
   * Until this same cost is allowed if no other request comes; 0 when allowed; null when it never can be, or is not
   * known (outcome `unavailable`, `unconfigured`).
   */
  readonly retryAfterMs: number | null;
  /** Until the key is as if never used, and not blocked. */
  readonly resetAfterMs: number;
  /** Pacing: wait this long before going on. */
  readonly delayMs: number;
  readonly source: DecisionSource;
  /** The instant of the decision by the store's clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** Why the store did not decide: set if the outcome is `unavailable`, or the source `local`. For logs alone. */
  readonly error?: Error;
  /** One per policy, in the order in which the limiter was given them; none if no store decided. */
  readonly policies: readonly PolicyDecision[];
}
