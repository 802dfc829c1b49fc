import type { Policy } from '../algorithms/index.ts';
import type { CarryOver } from '../stores/store.ts';

/** A policy that was in force before, for the keys that still hold its states. Without a policy: it was removed then. */
export interface EarlierPolicy {
  readonly version: number;
  readonly policy?: Policy;
  /** How the states of those before went over into this one. */
  readonly carryOver: CarryOver;
}

/** A policy as a source keeps it, as plain JSON. */
export interface PolicyRecord {
  /** The layout of this record: 1. One that is larger is not followed: its policy counts as not configured until it is put again. */
  readonly format: number;
  /** Grows with every change of the policy, and stays when only `apps` change. */
  readonly version: number;
  /** None in a tombstone: the policy was removed. */
  readonly policy?: Policy;
  /** The applications that may use it. */
  readonly apps: readonly string[];
  /** How the states of earlier versions go over into this one. */
  readonly carryOver: CarryOver;
  /** Milliseconds since 1970, by the clock of who changed it: for people. */
  readonly changedAtMs: number;
  /** Newest first. */
  readonly earlier: readonly EarlierPolicy[];
}

/**
 * Where managed policies are kept, if not in Redis: a file, a database, a registry's key-value store. A source that only
 * reads has `load` alone; see docs/guides/managed-policies.md for one over Consul's HTTP API.
 */
export interface PolicySource {
  /**
   * Every record by the name of its policy, tombstones too. One that is no record of ours concerns nobody but its own
   * policy. A rejection keeps what was known before; it is asked again within half a second.
   */
  load(): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Calls back whenever something may have changed; answers what ends that. What it misses is found by asking again.
   *
   * @param ended - To be called when nothing will be heard any more: it is watched again after some seconds, as it is when
   * this rejects.
   */
  watch?(changed: () => void, ended: () => void): (() => unknown) | Promise<() => unknown>;
  /**
   * Keeps a record, if the policy's record is still what `load` last said: `before`, or none. Answers false when
   * somebody else was faster. Nothing may be kept when it rejects, or it may have been: who puts again finds out.
   */
  put?(name: string, record: PolicyRecord, before: unknown): Promise<boolean>;
  /** Keeps the tombstone of a removed policy, as `put` does: removals have to be told apart from what is lost. */
  remove?(name: string, tombstone: PolicyRecord, before: unknown): Promise<boolean>;
  /** Ends what the source itself opened. */
  close?(): Promise<void> | void;
}
