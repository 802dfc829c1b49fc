/** The outcome of a request for units. */
export type Outcome = 'allowed' | 'denied' | 'blocked' | 'unconfigured' | 'unavailable';

/**
 * What decided: a store; `cache`, a recent denial that this process repeated; `local`, its memory while the store is
 * unavailable; or `none`. A store of your own has its own name.
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

/** The decision of one policy. If the request is denied, the numbers do not include it. */
export interface PolicyDecision {
  readonly name: string;
  /** Whether this policy would have allowed the request. */
  readonly allowed: boolean;
  /** The units of an unused key: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /** Units that this policy would allow right now, at least 0. */
  readonly remaining: number;
  /**
   * Units used after the decision. After a policy of 10 has allowed 6, it is 6. A bucket's debt and the estimate of a
   * sliding counter are rounded up. For a leaky bucket, it is the number of waiting units; for `concurrency`, the slots
   * held. Can exceed `limit` after an overdraft, a charge, or a lowered limit.
   */
  readonly used: number;
  /** Milliseconds until this policy allows the same cost; 0 if it does now, null if it never can. */
  readonly retryAfterMs: number | null;
  /** Milliseconds until this policy is as if the key had never been used. */
  readonly resetAfterMs: number;
  /** For a leaky bucket, how long the caller should wait before it starts; otherwise 0. */
  readonly delayMs: number;
  /** The window, or the time to fill the bucket. */
  readonly windowMs: number;
  /** Milliseconds until `remaining` grows; null if it cannot. */
  readonly nextAfterMs: number | null;
  /**
   * Set for slots, which are held until the request ends. `retryAfterMs` is then an upper bound, because the end of a
   * request is unknown.
   */
  readonly unit?: 'concurrent-requests';
}

/** The decision on a request for units. A denial is a decision too; only failures throw. */
export interface Decision {
  readonly allowed: boolean;
  readonly outcome: Outcome;
  /**
   * The policy that decided: if allowed, the one with the smallest share of its limit left; if denied, the one with the
   * longest wait.
   */
  readonly policy: string;
  readonly cost: number;
  /** The units of an unused key under that policy: the limit of a window, the capacity of a bucket. */
  readonly limit: number;
  /**
   * Units that every policy would allow right now. After a policy of 10 per second has allowed 6 in this second, it
   * is 4.
   */
  readonly remaining: number;
  /** Units used under the policy that decided: see {@link PolicyDecision}. 0 if no store decided. */
  readonly used: number;
  /**
   * Milliseconds until the same cost is allowed if no other request comes; 0 if allowed; null if it never can be, or if
   * that is unknown (outcome `unavailable` or `unconfigured`).
   */
  readonly retryAfterMs: number | null;
  /** Milliseconds until the key is as if never used, and is not blocked. */
  readonly resetAfterMs: number;
  /** For a leaky bucket, how long to wait before starting; otherwise 0. */
  readonly delayMs: number;
  readonly source: DecisionSource;
  /** When the decision was made, by the store's clock, in milliseconds since 1970. */
  readonly atMs: number;
  /** Why the store did not decide: set if the outcome is `unavailable` or the source is `local`. Only for logs. */
  readonly error?: Error;
  /** One per policy, in the limiter's order; empty if no store decided. */
  readonly policies: readonly PolicyDecision[];
}
