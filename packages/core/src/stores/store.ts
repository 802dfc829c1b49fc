import type { Policy } from '../policies/index.ts';

/**
 * What is asked of keys. `take`, `peek` and `try` are one decision over all asks, all or nothing; `try` differs from
 * `take` in that a denial starts no block. `give`, `charge`, `reset`, `block` and `renew` edit each key for itself.
 */
export type Op = 'take' | 'peek' | 'try' | 'give' | 'charge' | 'reset' | 'block' | 'renew';

/** What is asked of one key. The keys of one decision differ from each other. */
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
   * Who takes, gives back or renews a slot of `concurrency`: a whole number above 0. `give` and `charge` of other units:
   * `atMs` of the decision that took them; if a reset came after it, nothing is done.
   */
  readonly holder?: number | undefined;
  /**
   * `give` and `charge`: when the units leave that are meant, by the store's clock: `atMs + resetAfterMs` of the decision
   * that took them; 0 or left out, the newest. `block`: for how many milliseconds; 0 or left out ends a block. (A block
   * with a cost above 0 also resets the key.)
   */
  readonly until?: number | undefined;
  /** Asks the store itself, past its cache of denials. */
  readonly uncached?: boolean | undefined;
  /**
   * Internal: of the first of two asks of a `give` or `charge`, with one hash tag. It is a take, and the other is edited
   * only if that is allowed, while `until` lies ahead.
   */
  readonly isOnce?: true;
}

/**
 * What one key answers, times in milliseconds from `atMs`: whether it allows (0 or 1), units that are free, units that
 * are used, when the cost is allowed (-1: never), when the key is as if never used, when one more unit is free (-1:
 * unknown, or there is none to come), how long an allowed request waits for its turn, and how long the key is blocked.
 */
export type Figures = readonly number[];

export interface Answer {
  /** When it was decided, by the store's clock. */
  readonly atMs: number;
  /** One for each ask, in their order. */
  readonly figures: readonly Figures[];
  /** The answer is a denial that the store remembers. */
  readonly source?: 'cache';
}

/** Where states are kept and decisions are made. `describeStore` of `@sluice/core/testing` tests one. */
export interface Store {
  /** The `source` of its decisions: `memory`, `redis`, or a name of one's own. */
  readonly source: string;
  /**
   * Performs one request. A store in this process answers at once, any other by a promise.
   *
   * @param endMs - Internal: until when the caller waits, by `performance.now()`.
   * @throws StoreError if nothing was decided; its `sent` is false only if the request surely changed nothing.
   */
  perform(op: Op, asks: readonly Ask[], endMs?: number): Answer | Promise<Answer>;
  close?(): void | Promise<void>;
  /** Internal: called with every policy of a limiter that is made. @throws PolicyError for one that the store cannot enforce. */
  checkPolicy?(policy: Policy): void;
  /** Internal. Settles when the first connection is made or given up; undefined if it was. Calls wait for that beyond their time. */
  opening?(): Promise<void> | undefined;
}
