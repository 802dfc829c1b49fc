import type { Policy } from '../algorithms/index.ts';

/** What a key in Redis says. */
export interface KeyReport {
  readonly key: string;
  /** As it stands in the key: a long or unusual one as `#` and its digest. Null where the key is none of ours. */
  readonly subject: string | null;
  /** Whose units are counted. Null of a managed policy, which many limiters share, and where the key is none of ours. */
  readonly limiter: string | null;
  /** Until when everything is refused; null when it is not blocked. */
  readonly blockedUntilMs: number | null;
  /** What is remembered of refusals, where the limiter counts them (`escalate`); null where nothing is. */
  readonly refusals: RefusalsReport | null;
  /** None where the key cannot be read. */
  readonly policies: readonly PolicyReport[];
  /**
   * Why the key cannot be read or, where `policies` are there, why not to rely on their numbers: a policy that was given is
   * not the one that wrote the state. Null where neither is so.
   */
  readonly problem: string | null;
}

/** What is remembered of a key that was refused. */
export interface RefusalsReport {
  /** Since the last block. */
  readonly count: number;
  /** Blocks that refusals have led to. */
  readonly blocks: number;
  /** From when on none of this is known any more. */
  readonly forgottenAtMs: number;
}

/** How things stand with one policy under a key. Numbers that cannot be told are null. */
export interface PolicyReport {
  readonly name: string;
  /** The name of its algorithm, such as `fixedWindow`. */
  readonly algorithm: string;
  /** What the numbers were told by: the managed policy, or one that was given. Null when it is not known. */
  readonly policy: Policy | null;
  /** Of a managed policy, the version that wrote the state. Null of others, and where nothing is stored. */
  readonly version: number | null;
  readonly used: number | null;
  readonly limit: number | null;
  /** Units that would be admitted now: none while the key is blocked. */
  readonly remaining: number | null;
  /** From when on it is as if never used. Null where it is so already, and where that cannot be told. */
  readonly resetAtMs: number | null;
  /**
   * Of slidingLog and concurrency, the key that says what was taken when. This one says how much that was at the last write:
   * `used` is at most so much by now, and `remaining` at least. Null of others, and where nothing is stored.
   */
  readonly detailKey: string | null;
}
