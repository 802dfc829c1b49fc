import { localTime } from '../platform/clock.ts';
import { Leases, dropLeases, giveBackLeases } from '../lease/leases.ts';
import { Batching } from './batching/batching.ts';
import { DenialCache } from './denial-cache.ts';
import type { FastPaths } from './fast-paths.ts';
import { invalidations } from './invalidations.ts';
import { warnOfStateAhead } from './state-ahead.ts';

/** The fast paths of stores that are called over a network. */
export const networkFastPaths: FastPaths = {
  batching: (store, shardOf) => new Batching(store, shardOf),
  denialCache: (maxKeys) => new DenialCache(maxKeys, invalidations),
  leases: (maxAgeMs, store, port) => new Leases(maxAgeMs, store, port, localTime),
  dropLeases,
  giveBackLeases,
  invalidating: (requests, send) => invalidations.around(requests, send),
  warnOfStateAhead,
};
