import type { Policy } from '../algorithms/index.ts';

/** The contents of a key in Redis. */
export interface KeyReport {
  readonly key: string;
  /**
   * As in the key: `#` and a hash if it is long, has braces or is not well-formed. Null if the key has another
   * layout.
   */
  readonly subject: string | null;
  /** The limiter. Null for a managed policy, which several limiters may share, and if the key has another layout. */
  readonly limiter: string | null;
  /** When the block of the key ends. Null if it is not blocked. */
  readonly blockedUntilMs: number | null;
  /** The count of denials, if the limiter counts them (`escalate`). Null if there is none. */
  readonly denials: DenialCountReport | null;
  /** Empty if the key cannot be read. */
  readonly policies: readonly PolicyReport[];
  /**
   * Why the key cannot be read or, if there are `policies`, why their numbers are unreliable: a policy that was given
   * did not write the state. Null if there is no problem.
   */
  readonly problem: string | null;
}

/** The count of denials of a key. */
export interface DenialCountReport {
  /** Denials since the last block. */
  readonly count: number;
  /** Blocks that denials have led to. */
  readonly blocks: number;
  /** When the count is forgotten. */
  readonly forgottenAtMs: number;
}

/** The report on one policy under a key. Unknown numbers are null. */
export interface PolicyReport {
  readonly name: string;
  /** The name of its algorithm, such as `fixedWindow`. */
  readonly algorithm: string;
  /** The managed policy, or the one that was given. Null if neither is known. */
  readonly policy: Policy | null;
  /** The version of a managed policy that wrote the state. Null for others, and if nothing is stored. */
  readonly version: number | null;
  /** The override whose numbers count, as `policies.overrides` returns it. Null if none does. */
  readonly override: object | null;
  readonly used: number | null;
  readonly limit: number | null;
  /** Units that would be allowed now. 0 while the key is blocked. */
  readonly remaining: number | null;
  /** When the key is as if never used. Null if it is so already, and if that is unknown. */
  readonly resetAtMs: number | null;
  /**
   * For slidingLog and concurrency, the key that holds when units were consumed. The value of this key is of the last
   * write, so `used` is an upper bound now, and `remaining` a lower one. Null for others, and if nothing is stored.
   */
  readonly detailKey: string | null;
}
