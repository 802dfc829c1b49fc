import { SluiceError, StoreError } from '../errors.ts';
import type { ChangeEvent } from '../events/event.ts';
import { findTimeline, type Timeline } from '../events/timeline.ts';
import { readInstant, type Draft, type Held, type PolicyRecord } from './record.ts';

/**
 * Where managed policies are stored, if not in Redis: a file, a database, a registry. A read-only source has only
 * `load`.
 */
export interface PolicySource {
  /** Its name in warnings, such as `the table sluice_policies`. Default: `the source of policies`. */
  readonly name?: string;
  /**
   * Returns every record by its name, removals included: `orders` is a policy, `orders:key:ann` and
   * `orders:prefix:trial:` are overrides. Called twice a second, so a source of many records returns the same frozen
   * object while nothing has changed. `{ policy }` is enough for a record that is written by hand, and
   * `{ policy: null }` removes it. If it rejects, the last known policies stay in use.
   */
  load(): Promise<Readonly<Record<string, unknown>>>;
  /**
   * Stores a record if the current one is still `before`, as `load` returned it, or if there is none and `before` is
   * undefined. Returns false if another process has changed it. Without `put`, the source is read-only.
   */
  put?(name: string, record: PolicyRecord, before: unknown): Promise<boolean>;
  /**
   * Calls `changed` when something may have changed, until the returned function is called. Polling finds changes that
   * it misses.
   */
  watch?(changed: () => void): () => void;
}

/** Records that a source has returned. */
export interface Page {
  readonly records: Iterable<readonly [name: string, given: unknown]>;
  /** Whether the source returns all records, starting with these. */
  readonly isFromStart: boolean;
  /** Whether there are more to read immediately. */
  readonly hasMore: boolean;
  /** The source's clock, in milliseconds since 1970. */
  readonly nowMs: number;
  /** How far the source has been read, in the source's own format. */
  readonly cursor: unknown;
}

/** Records by their names. */
export type Named = readonly (readonly [name: string, record: PolicyRecord])[];

/** A source as a {@link Follower} uses it. */
export interface Feed {
  readonly name: string;
  /** Tells what changes. */
  readonly timeline: Timeline;
  /**
   * Returns what has changed since the last page: all records on the first call, and after the source has lost data.
   */
  read(last: Page | undefined): Promise<Page>;
  /** Replaces a record, and writes the event. Returns the record's time; 0 if another process has changed it. */
  put(name: string, draft: Draft, before: Held | undefined, event: ChangeEvent): Promise<number>;
  /** Writes back records that the source has lost, or has in an earlier version. Undefined if it is read-only. */
  restore?(records: Named): Promise<void>;
  /** Deletes records that are no longer useful. */
  forget?(records: Named): Promise<void>;
  /** Calls `changed` when something may have changed, until the function that it returns is called. */
  watch(changed: () => void): () => void;
  close(): Promise<void>;
}

/** A source that the caller wrote. */
export class OwnFeed implements Feed {
  readonly name: string;
  readonly timeline: Timeline = findTimeline();
  readonly restore?: NonNullable<Feed['restore']>;
  readonly #source: PolicySource;
  /** The records of the last load. */
  #records: Readonly<Record<string, unknown>> = {};

  constructor(source: PolicySource) {
    this.#source = source;
    this.name = source.name ?? 'the source of policies';
    if (source.put === undefined) return;
    this.restore = async (records) => {
      for (const [name, record] of records) await source.put?.(name, record, this.#present(name));
    };
  }

  async read(last: Page | undefined): Promise<Page> {
    const loaded: unknown = await this.#source.load();
    if (typeof loaded !== 'object' || loaded === null) {
      throw new StoreError('SLUICE_STORE_REPLY_INVALID', `load() of ${this.name} did not return an object of records`);
    }
    this.#records = loaded as Readonly<Record<string, unknown>>;
    const isSame = loaded === last?.cursor && Object.isFrozen(loaded);
    const records = isSame ? [] : Object.entries(loaded);
    return { records, isFromStart: !isSame, hasMore: false, nowMs: Date.now(), cursor: loaded };
  }

  async put(name: string, draft: Draft, before: Held | undefined, event: ChangeEvent): Promise<number> {
    if (this.#source.put === undefined) {
      throw new SluiceError(
        'SLUICE_POLICIES_READ_ONLY',
        `${this.name} has no put(): change ${name} where it is stored`,
      );
    }
    const present = this.#present(name);
    const beforeMs = before?.record.atMs ?? 0;
    if (readInstant(present) !== beforeMs) return 0; // it was loaded again meanwhile
    const atMs = Math.max(Date.now(), beforeMs + 1);
    if (!(await this.#source.put(name, { atMs, ...draft }, present))) return 0;
    await this.timeline.add({ ...event, atMs });
    return atMs;
  }

  #present(name: string): unknown {
    return Object.hasOwn(this.#records, name) ? this.#records[name] : undefined;
  }

  watch(changed: () => void): () => void {
    let unwatch: (() => void) | undefined;
    try {
      unwatch = this.#source.watch?.(changed);
    } catch {
      // Polling finds changes anyway.
    }
    return () => {
      try {
        unwatch?.();
      } catch {
        // It is not called any more.
      }
    };
  }

  async close(): Promise<void> {
    // It is the caller's.
  }
}

export function ignore(): void {
  // Polling tries again, and reports lasting failures.
}
