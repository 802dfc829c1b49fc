import { StoreError } from '../errors.ts';
import { within } from '../platform.ts';
import type { LimitEvent } from './event.ts';
import { findTimeline } from './timeline.ts';

export interface ReadEventsOptions {
  /** With a store in Redis: the events of all processes with its prefix. Otherwise those of this process. */
  readonly store?: object | undefined;
  /** Returns only events of this limiter, limit or managed policy. */
  readonly limit?: string | undefined;
  /** Returns only events of this key, and events without a key. */
  readonly key?: string | undefined;
}

const PATIENCE_MS = 3_000;

/**
 * Returns what changed and what broke, newest first: at most a thousand events of the last week. Several processes that
 * see an outage, or a loss of policies, begin within a minute write one event. One round trip.
 *
 * @throws (rejects) StoreError if Redis does not answer within three seconds.
 *
 * @example
 * ```ts
 * for (const { atMs, what, limit, key, by, reason } of await readEvents({ store, key: 'customer-7' })) {
 *   console.log(new Date(atMs), what, limit, key, by, reason);
 * }
 * ```
 */
export async function readEvents({ store, limit, key }: ReadEventsOptions = {}): Promise<readonly LimitEvent[]> {
  const timeline = findTimeline(store);
  const late = `the events were not read within ${String(PATIENCE_MS)} ms`;
  await within(PATIENCE_MS, timeline.refresh(), () => new StoreError('SLUICE_STORE_TIMEOUT', late));
  return timeline.select(limit, key);
}
