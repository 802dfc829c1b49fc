import { StoreError } from '../errors.ts';
import { within } from '../platform.ts';
import type { LimitEvent } from './event.ts';
import { timelineOf } from './timeline.ts';

export interface ReadEventsOptions {
  /**
   * A store in Redis: the events of all processes with its prefix. Without one, and for any other store, those of this
   * process.
   */
  readonly store?: object | undefined;
  /** Only those of this limiter, limit or managed policy. */
  readonly limit?: string | undefined;
  /** Only those of this key, and those of no key. */
  readonly key?: string | undefined;
}

const PATIENCE_MS = 3_000;

/**
 * Returns what changed and what broke, the last one first: at most the last thousand events of a week. An outage,
 * and a loss of policies, that several processes saw begin in one minute is one event. One round trip.
 *
 * @throws (rejects) StoreError if Redis does not answer in three seconds.
 *
 * @example
 * ```ts
 * for (const { atMs, what, limit, key, by, reason } of await readEvents({ store, key: 'customer-7' })) {
 *   console.log(new Date(atMs), what, limit, key, by, reason);
 * }
 * ```
 */
export async function readEvents({ store, limit, key }: ReadEventsOptions = {}): Promise<readonly LimitEvent[]> {
  const timeline = timelineOf(store);
  const late = `the events were not read in ${String(PATIENCE_MS)} ms`;
  await within(PATIENCE_MS, timeline.refresh(), () => new StoreError('SLUICE_STORE_TIMEOUT', late));
  return timeline.select(limit, key);
}
