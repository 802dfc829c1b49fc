import { parseDuration, type Duration } from '../../duration.ts';
import { PolicyError, shown } from '../../errors.ts';
import type { Escalation } from '../../escalate.ts';
import { checkOptions } from '../../options.ts';
import { performsRuns } from '../runs.ts';
import type { Store } from '../store.ts';

export interface LeaseOptions {
  /**
   * How old a slice may get: what is not spent of it by then is given back, or lost. From 20 ms to 500 ms; default `500ms`. A
   * token bucket holds what it refills in that time less.
   */
  maxAge?: Duration;
}

/** The option `lease`, checked. */
export interface LeaseSettings {
  readonly maxAgeMs: number;
}

const LEAST_AGE_MS = 20;
/** What somebody else does to a key (block, reset) is seen no later than that. */
const LONGEST_AGE_MS = 500;

/** @throws PolicyError `SLUICE_OPTION_INVALID`, or `SLUICE_OPTION_UNKNOWN`. */
export function parseLease(given: unknown): LeaseSettings | undefined {
  if (given === undefined || given === false) return undefined;
  if (given === true) return { maxAgeMs: LONGEST_AGE_MS };
  if (typeof given !== 'object' || given === null) {
    throw new PolicyError(
      'lease',
      `lease must be true, false or an object such as { maxAge: "500ms" }, got ${shown(given)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  checkOptions(given, ['maxAge'], 'lease');
  const { maxAge = LONGEST_AGE_MS } = given as LeaseOptions;
  const maxAgeMs = parseDuration(maxAge, 'lease.maxAge', 'SLUICE_OPTION_INVALID');
  if (maxAgeMs < LEAST_AGE_MS || maxAgeMs > LONGEST_AGE_MS) {
    throw new PolicyError(
      'lease.maxAge',
      `lease.maxAge must be from ${String(LEAST_AGE_MS)} to ${String(LONGEST_AGE_MS)} ms, got ${shown(maxAge)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { maxAgeMs };
}

/** @throws PolicyError for a store, or another option, that leaves nothing to lease. */
export function checkLease(store: Store, escalation: Escalation | undefined): void {
  if (escalation !== undefined) {
    throw refused(
      'no slices can be taken beside escalate, which counts every refusal in the store: leave one of the two out',
    );
  }
  if (store.source === 'split') {
    throw refused('a split limit is decided in this process as it is, and cannot be leased: leave lease out');
  }
  if (store.source !== 'memory' && !performsRuns(store)) {
    throw refused('slices are taken from a redisStore, and this store cannot give any: leave lease out');
  }
}

function refused(message: string): PolicyError {
  return new PolicyError('lease', message, 'SLUICE_OPTION_INVALID');
}
