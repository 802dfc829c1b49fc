import type { CarryOver, Policy } from '@sluice/core';

/** An earlier version of a policy, for keys that still hold its states. Without `policy`: it was removed then. */
export interface EarlierPolicy {
  readonly version: number;
  readonly policy?: Policy;
  /** How the states of earlier versions were carried over into this one. */
  readonly carryOver: CarryOver;
}

/** A policy as a source keeps it, in JSON. */
export interface PolicyRecord {
  /**
   * The layout of this record: 1. A policy with a higher one is not used: it counts as unconfigured until it is put
   * again.
   */
  readonly format: number;
  /** Grows with every change of the policy, and stays when only `apps` change. */
  readonly version: number;
  /** Absent in a tombstone: the policy was removed. */
  readonly policy?: Policy;
  /** The applications that may use it. */
  readonly apps: readonly string[];
  /** How the states of earlier versions are carried over into this one. */
  readonly carryOver: CarryOver;
  /** Milliseconds since 1970, by the clock of the process that changed it. For display only. */
  readonly changedAtMs: number;
  /** Newest first. */
  readonly earlier: readonly EarlierPolicy[];
}

/**
 * Where managed policies are kept, if not in Redis: a file, a database, a key-value store. A source that is read-only
 * has just `load`. See docs/guides/managed-policies.md for one over Consul's HTTP API.
 */
export interface PolicySource {
  /**
   * Returns every record by the name of its policy, including tombstones. An invalid record affects only its own
   * policy. After a rejection the known policies stay in use, and `load` is called again within half a second.
   */
  load(): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Calls `changed` whenever something may have changed, and returns a function that stops it. Polling finds changes
   * that are missed.
   *
   * @param ended - To be called when `changed` will not be called any more. The source is watched again after some
   * seconds, as it is when this rejects.
   */
  watch?(changed: () => void, ended: () => void): (() => unknown) | Promise<() => unknown>;
  /**
   * Writes a record, if the policy's record is still `before`, as `load` last returned it. Returns false if another
   * process has changed it. After a rejection the record may have been written or not: putting it again is safe.
   */
  put?(name: string, record: PolicyRecord, before: unknown): Promise<boolean>;
  /** Writes the tombstone of a removed policy, as `put` does: it distinguishes a removal from a loss. */
  remove?(name: string, tombstone: PolicyRecord, before: unknown): Promise<boolean>;
  /** Closes what the source itself opened. */
  close?(): Promise<void> | void;
}
