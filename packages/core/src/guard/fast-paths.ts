import type { BatchStore } from '../engine/batch-store.ts';
import type { Decision } from '../engine/decision.ts';
import type { Limit, Store, StoreRequest } from '../engine/store.ts';
import type { LeasePort, Leases } from '../lease/leases.ts';
import type { Batching } from './batching/batching.ts';
import type { DenialCache } from './denial-cache.ts';
import type { Shard } from './shard.ts';

/**
 * Shortcuts that avoid one store call per request. A store that gains by them brings them along, so that a program with
 * memory stores alone does not load them.
 */
export interface FastPaths {
  batching(store: BatchStore, shardOf: (subject: string) => Shard): Batching;
  denialCache(maxKeys: number): DenialCache;
  leases(maxAgeMs: number, store: Store, port: LeasePort): Leases;
  /** Drops what every limiter of this process holds of a key in a store. */
  dropLeases(store: Store, subject: string, keySuffix: string): void;
  /** Gives back what every limiter of this process holds of a key in a store: sent before the caller's next call. */
  giveBackLeases(store: Store, subject: string, keySuffix: string): void;
  /** Sends requests, and records which of them may make more available than the denial caches know. */
  invalidating<T>(requests: readonly StoreRequest[], send: () => T | Promise<T>): T | Promise<T>;
  /** Warns when a denial comes from a state that ends later than its policy could make it end. */
  warnOfStateAhead(limiter: string, limit: Limit, states: readonly unknown[], decision: Decision): void;
}

/** The same symbol in all copies of the package. */
export const FAST_PATHS: unique symbol = Symbol.for('sluice.fast-paths');

/** A store that brings its fast paths along. */
export interface FastStore extends Store {
  readonly [FAST_PATHS]: FastPaths;
}

export function fastPathsOf(store: Store): FastPaths | undefined {
  return (store as Partial<FastStore>)[FAST_PATHS];
}
