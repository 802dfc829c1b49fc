import { PolicyError, StoreError, asStoreError } from '../errors.ts';
import { withinDeadline } from '../stores/deadline.ts';
import { warnOnce } from '../warnings.ts';
import { definitionOf, type Definition } from './definition.ts';
import type { PolicySource } from './policy-source.ts';

/** How often it is asked whether something has changed: a notification that is lost costs less than a second. */
const POLL_MS = 500;
/** How long a source that cannot be watched is left alone. */
const WATCH_AGAIN_MS = 10_000;
/** How long a source may take to answer. One that hangs is asked again after that. */
const LONGEST_LOAD_MS = 2000;

/** A definition and the record that it was read from. */
interface Known {
  readonly record: unknown;
  readonly definition: Definition;
}

/**
 * What a source says of all its policies, kept at hand: limiters look here, at no cost, and hear of changes by the
 * source's notifications and by asking again and again while any limiter is open.
 */
export class Definitions {
  readonly source: PolicySource;
  readonly #known = new Map<string, Known>();
  #records: Readonly<Record<string, unknown>> = {};
  #isLoaded = false;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;
  #watching: Promise<(() => unknown) | undefined> | undefined;
  /** How often it has been closed: what was begun before does not go on. */
  #closings = 0;

  constructor(source: PolicySource) {
    this.source = source;
  }

  /** Whether the source has ever answered. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  get(name: string): Definition | undefined {
    return this.#known.get(name)?.definition;
  }

  /** The record of a policy as the source last said it; none where it was lost. */
  recordOf(name: string): unknown {
    return Object.hasOwn(this.#records, name) ? this.#records[name] : undefined;
  }

  /** Whether the source still says what is known of a policy: it may have lost it, or be back at an older version. */
  isKept(name: string): boolean {
    return this.#known.has(name) && this.recordOf(name) === this.#known.get(name)?.record;
  }

  get names(): readonly string[] {
    return [...this.#known.keys()].sort();
  }

  /** Begins to follow the source, for one user more. */
  enter(): void {
    this.#users++;
    if (this.#users > 1) return;
    this.#forget(); // what was loaded before was not followed since
    this.#follow();
  }

  /** Ends that, with the last user. */
  async leave(): Promise<void> {
    this.#users--;
    await this.close();
  }

  /** Ends what was opened, unless somebody follows the source. It is opened again when it is needed again. */
  async close(): Promise<void> {
    if (this.#users > 0) return;
    this.#closings++;
    clearTimeout(this.#timer);
    // Not waited for: a source that hangs may never have begun.
    void this.#watching?.then((unwatch) => unwatch?.());
    this.#watching = undefined;
    await this.source.close?.();
  }

  #forget(): void {
    this.#known.clear();
    this.#records = {};
    this.#isLoaded = false;
  }

  /**
   * Asks the source; answers when what it said is known here.
   *
   * @throws (rejects) StoreError.
   */
  load(): Promise<void> {
    if (this.#loading === undefined) {
      this.#loading = this.#ask().finally(() => {
        this.#loading = undefined;
      });
      return this.#loading;
    }
    // What is being answered may be what was before: one load more, for all who ask meanwhile.
    this.#next ??= this.#loading.then(ignore, ignore).then(() => {
      this.#next = undefined;
      return this.load();
    });
    return this.#next;
  }

  /** Loads, where somebody follows the source. Does not reject: the next poll asks again. */
  async refresh(): Promise<void> {
    if (this.#users > 0) await this.load().catch(ignore);
  }

  async #ask(): Promise<void> {
    let records: Readonly<Record<string, unknown>>;
    try {
      records = await withinDeadline(this.source.load(), LONGEST_LOAD_MS, { abandoned: false }, false);
    } catch (error) {
      if (error instanceof PolicyError) throw error;
      throw asStoreError(error);
    }
    if (typeof records !== 'object' || (records as unknown) === null) {
      throw new StoreError('SLUICE_STORE_REPLY_INVALID', 'the source of policies answered no records');
    }
    this.#records = records;
    this.#adopt(records);
    this.#isLoaded = true;
  }

  #adopt(records: Readonly<Record<string, unknown>>): void {
    for (const [name, record] of Object.entries(records)) {
      const before = this.#known.get(name);
      if (before !== undefined && (before.record === record || isSame(before.record, record))) {
        if (before.record !== record) this.#known.set(name, { record, definition: before.definition });
        continue;
      }
      const definition = definitionOf(name, record);
      if (before !== undefined && definition.version < before.definition.version) warnOfLoss(name);
      else this.#known.set(name, { record, definition });
    }
    for (const [name, { definition }] of this.#known) {
      // A removal leaves a tombstone. What is simply gone was lost: a Redis that was restarted empty, say.
      if (!Object.hasOwn(records, name) && definition.state === 'usable') warnOfLoss(name);
    }
  }

  #follow(): void {
    const closings = this.#closings;
    const poll = async (): Promise<void> => {
      this.#watching ??= this.#watch();
      try {
        await this.load();
      } catch {
        // What was known stays; a decision that knows nothing yet says why, when it asks itself.
      }
      if (closings !== this.#closings) return;
      this.#timer = setTimeout(() => void poll(), POLL_MS).unref();
    };
    void poll();
  }

  async #watch(): Promise<(() => unknown) | undefined> {
    try {
      return await this.source.watch?.(() => {
        this.load().catch(ignore); // the next poll asks again
      });
    } catch {
      setTimeout(() => {
        this.#watching = undefined; // to be tried again with the next poll
      }, WATCH_AGAIN_MS).unref();
      return undefined;
    }
  }
}

function ignore(): void {
  // Whoever asked for it hears of it.
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

function warnOfLoss(name: string): void {
  warnOnce(
    'SLUICE_POLICIES_LOST',
    `the managed policy ${name} is gone from its source without having been removed, or is there in an older version (a server restarted empty?). ` +
      'What was known of it last goes on; put it again, so that processes that start now know it too.',
    name,
  );
}
