import { StoreError } from '../errors.ts';
import { startTimer, stopTimer, type Timer } from '../platform.ts';
import { readSubject } from '../values/key.ts';
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
 * Returns what changed and what broke, the last one first: at most the last thousand events of a week. Outages and lost
 * policies are one event each, with begin and end, however many processes saw them. One round trip.
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
  let timer: Timer | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = startTimer(PATIENCE_MS, () => {
      reject(new StoreError('SLUICE_STORE_TIMEOUT', `the events were not read in ${String(PATIENCE_MS)} ms`));
    });
  });
  await Promise.race([timeline.refresh(), late]).finally(() => {
    stopTimer(timer);
  });
  return selectEvents(timeline.events, limit, key);
}

/** The events of a limit and of a key. Those of an outage concern every key. */
export function selectEvents(
  events: readonly LimitEvent[],
  limit: string | undefined,
  key: string | undefined,
): readonly LimitEvent[] {
  const isOf = (event: LimitEvent): boolean =>
    limit === undefined || [...event.limit.split(', '), ...event.limit.split(/, |:/)].includes(limit);
  const keys = key === undefined ? [] : [key, readSubject(key)];
  const concerns = (given: string | null): boolean =>
    given === null ||
    key === undefined ||
    keys.includes(given) ||
    (given.endsWith('*') && key.startsWith(given.slice(0, -1)));
  return events.filter((event) => isOf(event) && concerns(event.key));
}
