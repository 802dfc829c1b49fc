import type { CoreSettings } from './core-options.ts';
import type { Batching } from './stores/batching/batching.ts';
import { Leases, type LeasePort } from './stores/lease/leases.ts';
import { localTime } from './stores/split/heartbeats.ts';
import type { EditingRequest } from './stores/store.ts';

/** What leases need of their limiter. */
export interface LeasingGrounds {
  readonly batching: Batching | undefined;
  /** Has a limiter that closes wait for it. */
  readonly inBackground: (work: Promise<unknown>) => void;
  readonly giveBack: (requests: readonly EditingRequest[]) => Promise<unknown>;
  readonly noteFailure: (error: unknown) => void;
}

/** The leases of a limiter; undefined where it has none. */
export function leasesOf(
  { lease, store, timeoutMs }: CoreSettings,
  { batching, inBackground, giveBack, noteFailure }: LeasingGrounds,
): Leases | undefined {
  if (lease === undefined || batching === undefined) return undefined;
  const port: LeasePort = {
    timeoutMs,
    inBackground,
    giveBack,
    run: async (limit, subject, count) => {
      try {
        return await batching.run(limit, subject, 1, count, timeoutMs);
      } catch (error) {
        noteFailure(error);
        throw error;
      }
    },
  };
  return new Leases(lease.maxAgeMs, store, port, localTime);
}
