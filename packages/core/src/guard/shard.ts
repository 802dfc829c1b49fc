import type { Breaker } from './breaker.ts';

/** A part of a store that fails independently. */
export interface Shard {
  readonly breaker: Breaker;
  /** The last subject that failed, or was requested since: the one to probe. */
  subject: string;
  /** The longest timeout of its limiters. */
  timeoutMs: number;
}
