import type { Policy } from '@sluice/old-core';

/** The checked part of one policy's numbers in a decision. */
export interface PolicyReply {
  readonly allowed: boolean;
  readonly remaining: number;
  readonly retryAfterMs: number | null;
  readonly resetAfterMs: number;
  readonly nextAfterMs: number | null;
}

/** The checked part of a decision. */
export interface Reply {
  readonly allowed: boolean;
  /** By the server's clock. */
  readonly atMs: number;
  readonly policies: readonly PolicyReply[];
}

/**
 * How a call ended. `answered`: it was carried out, once. `unknown`: it timed out, its connection broke, or its
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
  /** The reply to a consume or a peek. */
  readonly reply?: Reply | undefined;
  /** The decision that a refund belongs to. */
  readonly charge?: Reply | undefined;
}

/** Where the server lost its memory. */
export interface Cut {
  /** By the server's clock: after all earlier decisions, and not after any later one. */
  readonly atMs: number;
  /** By the monotonic clock: after the end of the old server, and before the start of the new one. */
  readonly lostMs: number;
}

/** A run, as recorded by its processes. */
export interface History {
  /** The policies of each key, unused at the beginning. */
  readonly policies: Readonly<Record<string, readonly Policy[]>>;
  /** By the server's clock: before the first call. */
  readonly sinceMs: number;
  readonly calls: readonly Call[];
  readonly cuts: readonly Cut[];
  /** Spans of the server's clock during which it was stopped. */
  readonly stopped: readonly { readonly fromMs: number; readonly toMs: number }[];
  /**
   * Set where the calls of a process take several ways to the server, as behind services: a call of unknown end
   * overtakes nothing, is overtaken by later calls of its process, and may be carried out until so long after its end.
   */
  readonly lateMs?: number;
}
