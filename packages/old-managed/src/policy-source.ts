import type { CarryOver, Policy } from '@sluice/old-core';
import type { OverrideRecord } from './overrides/override-record.ts';

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
  /** What warnings call it, as in `the table sluice_policies`. Default: `the source of policies`. */
  readonly name?: string;
  /** Milliseconds from one load to the next, from 10. Default 500. */
  readonly everyMs?: number;
  /**
   * Returns every record by the name of its policy, including tombstones. An invalid record affects only its own
   * policy. After a rejection the known policies stay in use, and `load` is called again within half a second.
   */
  load(): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Overrides for single keys and prefixes, where the source keeps them apart because there may be many. Absent: they
   * are records like those of policies, by names such as `orders:key:ann`.
   */
  readonly overrides?: OverrideSource;
  /**
   * Calls `changed` whenever something may have changed, and returns a function that stops it. Polling finds changes
   * that are missed.
   *
   * @param ended - To be called when `changed` will not be called any more. The source is watched again after some
   * seconds, as it is when this rejects.
   */
  watch?(changed: () => void, ended: () => void): (() => unknown) | Promise<() => unknown>;
  /**
   * Writes the record of a policy or of an override, if it is still `before`, as `load` last returned it, or `overrides.read`. Returns false if another
   * process has changed it. After a rejection the record may have been written or not: putting it again is safe.
   */
  put?(name: string, record: PolicyRecord | OverrideRecord, before: unknown): Promise<boolean>;
  /** Writes the tombstone of what was removed, as `put` does: it distinguishes a removal from a loss. */
  remove?(name: string, tombstone: PolicyRecord | OverrideRecord, before: unknown): Promise<boolean>;
  /** Closes what the source itself opened. */
  close?(): Promise<void> | void;
}

/** Overrides that are read as they change, a page at a time. */
export interface OverrideSource {
  /**
   * Returns the records that have changed since a page, in the order of their changes; without a cursor all of them,
   * tombstones included. Called as often as `load`. After a rejection the same is asked again.
   *
   * @param cursor - That of the last page.
   */
  changes(cursor: string | undefined): Promise<OverridePage>;
  /** The record at present, to be given to `put` or `remove`; undefined where there is none. */
  read(name: string): Promise<unknown>;
}

export interface OverridePage {
  readonly records: Iterable<readonly [name: string, record: unknown]>;
  readonly cursor: string;
  /** Whether there is more, which is asked for at once. */
  readonly hasMore: boolean;
  /** Whether all records follow, with those of this page as the first: without a cursor, or because the source went back. */
  readonly isFromStart: boolean;
  /** The instant of the source's clock, milliseconds since 1970. Absent: overrides end by the clocks of the processes. */
  readonly nowMs?: number;
}
