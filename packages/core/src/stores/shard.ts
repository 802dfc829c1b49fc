import type { Breaker } from './breaker.ts';

/** A part of a store that fails by itself: what is known of it. */
export interface Shard {
  readonly breaker: Breaker;
  /** The subject that was asked for when it last failed, or since then: what is probed. */
  subject: string;
  /** The most patient limiter's. */
  timeoutMs: number;
}
