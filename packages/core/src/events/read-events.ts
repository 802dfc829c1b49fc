import { StoreError } from '../errors.ts';
import { within } from '../platform.ts';
import { optional, readOptions, valueThat, type Optional, type Options } from '../values/shape.ts';
import type { LimitEvent } from './event.ts';
import { findTimeline } from './timeline.ts';

const text = valueThat<string>((given) => typeof given === 'string', 'a string');
const SHAPE = {
  /** With a store in Redis: the events of all processes with its prefix. Otherwise those of this process. */
  store: optional(
    valueThat((given) => typeof given === 'object' && given !== null, 'a store, such as redisStore(...)'),
  ) as Optional<object>,
  /** Returns only events of this limiter, limit or managed policy. */
  limit: optional(text) as Optional<string>,
  /** Returns only events of this key, and events without a key. */
  key: optional(text) as Optional<string>,
};

export interface ReadEventsOptions extends Options<typeof SHAPE> {}

const PATIENCE_MS = 3_000;

/**
 * Returns what changed and what broke, newest first: at most a thousand events of the last week. Several processes that
 * see an outage, or a loss of policies, begin within a minute write one event. One round trip.
 *
 * @throws (rejects) PolicyError for a bad or unknown option; StoreError if Redis does not answer within three seconds.
 *
 * @example
 * ```ts
 * for (const { atMs, what, limit, key, by, reason } of await readEvents({ store, key: 'customer-7' })) {
 *   console.log(new Date(atMs), what, limit, key, by, reason);
 * }
 * ```
 */
export async function readEvents(options: ReadEventsOptions = {}): Promise<readonly LimitEvent[]> {
  const { store, limit, key } = readOptions(options, SHAPE, 'readEvents');
  const timeline = findTimeline(store);
  const late = `the events were not read within ${String(PATIENCE_MS)} ms`;
  await within(PATIENCE_MS, timeline.refresh(), () => new StoreError('SLUICE_STORE_TIMEOUT', late));
  return timeline.select(limit, key);
}
