import type { Policy } from '@sluice/core';

/** What one policy of a decision said, as far as it is checked. */
export interface PolicyReply {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly nextAfterMs: number | null;
}

/** A decision, as far as it is checked. */
export interface Reply {
  readonly allowed: boolean;
  /** By the server's clock. */
  readonly atMs: number;
  readonly policies: readonly PolicyReply[];
}

/**
 * What became of a call. `answered`: it was carried out, once. `unknown`: it timed out, its connection broke, or its
 * process was killed, so that it may have been carried out, or be so later. `unsent`: it failed before anything was
 * sent, so that it never was.
 */
export type End = 'answered' | 'unknown' | 'unsent';

/** One call of a limiter's method. */
export interface Call {
  readonly op: 'consume' | 'peek' | 'refund' | 'reset';
  /** Which process made it: over one connection at a time, in the order of `invokedMs`. */
  readonly process: number;
  readonly key: string;
  readonly cost: number;
  /** By the monotonic clock of the machine, which all its processes share. */
  readonly invokedMs: number;
  /** When the process knew the end; `Infinity` when it was killed before. */
  readonly endedMs: number;
  readonly end: End;
  /** What a consume or a peek was answered. */
  readonly reply?: Reply | undefined;
  /** What a refund gives back: the decision that took it. */
  readonly charge?: Reply | undefined;
}

/** Where the server lost its memory. */
export interface Cut {
  /** By the server's clock: after all that was decided before, and not after anything that was decided later. */
  readonly atMs: number;
  /** By the monotonic clock: when the old server was gone, and when the new one had not begun. */
  readonly goneMs: number;
}

/** A run, as its processes saw it. */
export interface History {
  /** The policies of each key, unused at the beginning. */
  readonly policies: Readonly<Record<string, readonly Policy[]>>;
  /** By the server's clock: before the first call. */
  readonly sinceMs: number;
  readonly calls: readonly Call[];
  readonly cuts: readonly Cut[];
  /** Spans of the server's clock during which it was stopped, and carried nothing out. */
  readonly stopped: readonly { readonly fromMs: number; readonly toMs: number }[];
}
