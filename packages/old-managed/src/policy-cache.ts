import { StoreError } from '@sluice/old-core';
import { asStoreError, detached, warnOnce, withinDeadline, type LimitFeed } from '@sluice/old-core/spi';
import { readRecord, type PolicyDefinition } from './read-record.ts';
import { OverrideIndex } from './override-index.ts';
import { readRecordName } from './overrides/target.ts';
import type { PolicySource } from './policy-source.ts';

/** How often a source is read again that does not say: after a lost notification a change takes effect within a second. */
const POLL_MS = 500;
/** How many loads in a row fail before a warning: a single one may have been late. */
const FAILED_LOADS = 3;
/** How long until a source that cannot be watched is watched again. */
const WATCH_AGAIN_MS = 10_000;
/** How long `load` of a source may take. After that it is called again. */
const LONGEST_LOAD_MS = 2000;

/** A definition and the record that it was read from. */
interface KnownPolicy {
  readonly record: unknown;
  readonly text: string;
  readonly definition: PolicyDefinition;
}

/**
 * All policies of a source, in memory: limiters read them here at no cost. While any limiter is open, the cache
 * follows the source by its notifications and by polling.
 */
export class PolicyCache implements LimitFeed {
  readonly source: PolicySource;
  readonly #known = new Map<string, KnownPolicy>();
  #overrides = new OverrideIndex();
  #records: Readonly<Record<string, unknown>> = {};
  #changes = 0;
  #failedLoads = 0;
  #isLoaded = false;
  #failure: unknown;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;
  #watchAgain: NodeJS.Timeout | undefined;
  #watching: Promise<(() => unknown) | undefined> | undefined;
  /** How often the cache has been closed. Work that began before does not continue. */
  #closings = 0;

  constructor(source: PolicySource) {
    this.source = source;
  }

  /** Whether the source has been read since the cache follows it. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** The error of the last `load`, if it failed. */
  get failure(): unknown {
    return this.#failure;
  }

  get(name: string): PolicyDefinition | undefined {
    return this.#known.get(name)?.definition;
  }

  /** Grows when a definition changes, or an override. */
  get changes(): number {
    return this.#changes + this.#overrides.changes;
  }

  /** The overrides of all policies. */
  get overrides(): OverrideIndex {
    return this.#overrides;
  }

  /** The record of a policy as last read from the source; undefined if the source has lost it. */
  recordOf(name: string): unknown {
    return Object.hasOwn(this.#records, name) ? this.#records[name] : undefined;
  }

  /** The records as last read by `load` of the source, by name. */
  get records(): Iterable<readonly [string, unknown]> {
    return Object.entries(this.#records);
  }

  /** Whether the source still has the known version of a policy. It may have lost it, or have an older one. */
  isCurrentInSource(name: string): boolean {
    return this.#known.has(name) && this.recordOf(name) === this.#known.get(name)?.record;
  }

  get names(): readonly string[] {
    return [...this.#known.keys()].sort();
  }

  /** Adds a user. The first one makes the cache follow the source. */
  enter(): void {
    this.#users++;
    if (this.#users > 1) return;
    this.#forget(); // earlier records may be outdated
    this.#follow();
  }

  /** Removes a user. The last one closes the cache. */
  async leave(): Promise<void> {
    this.#users--;
    await this.close();
  }

  /** Closes the source, unless the cache has users. The next call of `load` opens it again. */
  async close(): Promise<void> {
    if (this.#users > 0) return;
    this.#closings++;
    clearTimeout(this.#timer);
    // Not awaited: the watch of a source that hangs may never begin.
    this.#watching?.then((unwatch) => unwatch?.()).catch(ignore);
    clearTimeout(this.#watchAgain);
    this.#watching = undefined;
    await this.source.close?.();
  }

  /** Lets a later poll watch the source again. */
  #watchLater(): void {
    clearTimeout(this.#watchAgain);
    this.#watchAgain = detached(() =>
      setTimeout(() => {
        this.#watching = undefined;
      }, WATCH_AGAIN_MS).unref(),
    );
  }

  #forget(): void {
    this.#known.clear();
    this.#changes += this.#overrides.changes + 1;
    this.#overrides = new OverrideIndex();
    this.#records = {};
    this.#isLoaded = false;
    this.#failure = undefined;
  }

  /**
   * Reads the source, and resolves when the cache is up to date.
   *
   * @throws (rejects) StoreError.
   */
  load(): Promise<void> {
    if (this.#loading === undefined) {
      this.#loading = this.#fetch().finally(() => {
        this.#loading = undefined;
      });
      return this.#loading;
    }
    // The load in progress may miss the latest change. One more load serves all callers that come meanwhile.
    const closings = this.#closings;
    this.#next ??= this.#loading.then(ignore, ignore).then(() => {
      this.#next = undefined;
      if (closings === this.#closings) return this.load();
      throw new StoreError('SLUICE_STORE_FAILED', 'the policies were closed during the call');
    });
    return this.#next;
  }

  /** Resolves when the source has been read once. Waits for the load in progress, if there is one. */
  loaded(timeoutMs: number): Promise<void> {
    return withinDeadline(this.#readOnce(), timeoutMs, { abandoned: false });
  }

  async #readOnce(): Promise<void> {
    if (!this.#isLoaded) await (this.#loading ?? this.load());
  }

  /** Loads, if the cache has users. Does not reject: the next poll loads again. */
  async refresh(): Promise<void> {
    if (this.#users > 0) await this.load().catch(ignore);
  }

  async #fetch(): Promise<void> {
    const overrides = this.#overrides;
    try {
      const { source } = this;
      const [loaded, followed] = await Promise.allSettled([
        withinDeadline<unknown>(source.load(), LONGEST_LOAD_MS, { abandoned: false }, false),
        source.overrides && overrides.follow(source.overrides),
      ]);
      if (followed.status === 'rejected') throw followed.reason;
      if (loaded.status === 'rejected') throw loaded.reason;
      const records = loaded.value;
      if (typeof records !== 'object' || records === null) {
        throw new StoreError(
          'SLUICE_STORE_REPLY_INVALID',
          'load() of the source of policies returned no object of records',
        );
      }
      this.#adopt(records as Readonly<Record<string, unknown>>);
      this.#isLoaded = true;
      this.#failure = undefined;
      this.#failedLoads = 0;
    } catch (error) {
      const failure = asStoreError(error);
      this.#failure = failure;
      this.#failedLoads++;
      if (this.#isLoaded && this.#failedLoads === FAILED_LOADS) warnOfAbsence(this.source, failure.message);
      throw failure;
    }
  }

  #adopt(records: Readonly<Record<string, unknown>>): void {
    if (records === this.#records && Object.isFrozen(records)) return; // the source returns the same object if nothing has changed
    const before = this.#records;
    this.#records = records;
    const names = Object.keys(records);
    const ofOverrides = this.source.overrides === undefined ? names.filter(isOverride) : [];
    for (const name of names) {
      const record = records[name];
      // A source may return the same object for what has not changed.
      if (before[name] === record && Object.isFrozen(before)) continue;
      if (isOverride(name)) this.#overrides.adopt(name, record);
      else this.#adoptPolicy(name, record);
    }
    for (const [name, { definition }] of this.#known) {
      // A removal leaves a tombstone. A policy without a record was lost, for example with a Redis that restarted
      // empty.
      if (!Object.hasOwn(records, name) && definition.state === 'usable') warnOfLoss(name);
    }
    if (this.source.overrides === undefined) this.#overrides.warnOfLost(new Set(ofOverrides));
  }

  #adoptPolicy(name: string, record: unknown): void {
    const text = textOf(record);
    const before = this.#known.get(name);
    if (before?.text === text) {
      this.#known.set(name, { ...before, record });
      return;
    }
    const definition = readRecord(name, record);
    if (before !== undefined && definition.version < before.definition.version) {
      warnOfLoss(name);
      return;
    }
    this.#known.set(name, { record, text, definition });
    this.#changes++;
  }

  #follow(): void {
    const closings = this.#closings;
    const poll = async (): Promise<void> => {
      this.#watching ??= this.#watch();
      try {
        await this.load();
      } catch {
        // Known policies stay in use. A decision that has none yet loads itself and reports the error.
      }
      if (closings !== this.#closings) return;
      this.#timer = setTimeout(() => void poll(), this.source.everyMs ?? POLL_MS).unref();
    };
    detached(() => void poll());
  }

  async #watch(): Promise<(() => unknown) | undefined> {
    const closings = this.#closings;
    let isLive = true;
    try {
      return await this.source.watch?.(
        () => {
          // A late message does not open a closed source again.
          if (closings === this.#closings) this.load().catch(ignore); // the next poll loads again
        },
        () => {
          if (isLive && closings === this.#closings) this.#watchLater();
          isLive = false;
        },
      );
    } catch {
      if (closings === this.#closings) this.#watchLater();
      return undefined;
    }
  }
}

function ignore(): void {
  // The caller of the failed load gets the error.
}

/** The record as text, or nothing if it is not JSON. */
function textOf(record: unknown): string {
  try {
    return JSON.stringify(record);
  } catch {
    return '';
  }
}

function isOverride(name: string): boolean {
  return readRecordName(name) !== undefined;
}

function warnOfAbsence({ name = 'the source of policies' }: PolicySource, why: string): void {
  warnOnce(
    'SLUICE_POLICIES_AWAY',
    `${name} cannot be read (${why}). The policies and overrides that were read last are in force until it can be read again.`,
    name,
  );
}

function warnOfLoss(name: string): void {
  warnOnce(
    'SLUICE_POLICIES_LOST',
    `the managed policy ${name} is missing in its source without a removal, or the source has an older version of it (did the server restart empty?). ` +
      'This process keeps its last known version; put the policy again, so that processes that start now have it too.',
    name,
  );
}
