import type { Policy } from '../policies/index.ts';

/**
 * What is asked of keys. `take`, `peek` and `try` are one decision over all asks, all or nothing; `try` differs from
 * `take` in that a denial starts no block. `give`, `charge`, `reset`, `block` and `renew` edit each key separately.
 */
export type Op = 'take' | 'peek' | 'try' | 'give' | 'charge' | 'reset' | 'block' | 'renew';

/** What is asked of one key. The keys of one decision are all different. */
export interface Ask {
  /**
   * `{subject}:limiter` or `{subject}:limiter:policy`: in a cluster, all keys of a subject are on one node. At most
   * 512 characters.
   */
  readonly key: string;
  readonly policy: Policy;
  /** A whole number of units, at least 0. */
  readonly cost: number;
  /**
   * The holder that takes, gives back or renews a `concurrency` slot: a whole number above 0. For `give` and `charge`
   * of other units: `atMs` of the decision that took them; if a reset came after it, nothing is done.
   */
  readonly holder?: number | undefined;
  /**
   * For `give` and `charge`: when the units in question expire, by the store's clock: `atMs + resetAfterMs` of the
   * decision that took them; 0 or absent: the newest units. For `block`: how many milliseconds; 0 or absent ends a
   * block. (A block with a cost above 0 also resets the key.)
   */
  readonly until?: number | undefined;
  /** Bypasses the store's denial cache. */
  readonly uncached?: boolean | undefined;
  /**
   * Internal: of the first of two asks of a `give` or `charge`, with one hash tag. It is a take, and the other is edited
   * only if that is allowed, while `until` lies ahead.
   */
  readonly isOnce?: true;
  /**
   * Internal: the name and text of an event that a store in Redis adds to its timeline in the same call, unless it is a
   * cluster, where the timeline is in another slot. The text is JSON from the point after `"atMs"`.
   */
  readonly event?: readonly [name: string, text: string] | undefined;
}

/**
 * The answer for one key, with times in milliseconds from `atMs`: whether it allows (0 or 1), free units, used units,
 * when the cost is allowed (-1: never), when the key is as if never used, when one more unit is free (-1: unknown or
 * never), how long an allowed request waits for its turn, and how long the key is blocked.
 */
export type Figures = readonly number[];

export interface Answer {
  /** When it was decided, by the store's clock. */
  readonly atMs: number;
  /** One for each ask, in the same order. */
  readonly figures: readonly Figures[];
  /** The answer is a denial that the store remembers. */
  readonly source?: 'cache';
}

/** Where states are kept and decisions are made. `describeStore` of `@sluice/core/testing` tests one. */
export interface Store {
  /** The `source` of its decisions: `memory`, `redis`, or your store's own name. */
  readonly source: string;
  /**
   * Performs one request. A store in this process answers at once, any other returns a promise.
   *
   * @param endMs - Internal: until when the caller waits, by `performance.now()`.
   * @throws StoreError if nothing was decided; its `sent` is false only if the request certainly changed nothing.
   */
  perform(op: Op, asks: readonly Ask[], endMs?: number): Answer | Promise<Answer>;
  close?(): void | Promise<void>;
  /** Internal: called with every policy of a new limiter. @throws PolicyError for one that the store cannot enforce. */
  checkPolicy?(policy: Policy): void;
  /**
   * Internal. Settles when the first connection is made or given up; undefined after that. Calls wait for it beyond
   * their deadline.
   */
  opening?(): Promise<void> | undefined;
}
