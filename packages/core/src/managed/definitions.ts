import { StoreError, asStoreError } from '../errors.ts';
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
  readonly text: string;
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
  #failure: unknown;
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #users = 0;
  #timer: NodeJS.Timeout | undefined;
  #watchAgain: NodeJS.Timeout | undefined;
  #watching: Promise<(() => unknown) | undefined> | undefined;
  /** How often it has been closed: what was begun before does not go on. */
  #closings = 0;

  constructor(source: PolicySource) {
    this.source = source;
  }

  /** Whether the source has answered since it is followed. */
  get isLoaded(): boolean {
    return this.#isLoaded;
  }

  /** Why it has not, where it was asked in vain. */
  get failure(): unknown {
    return this.#failure;
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
    this.#watching?.then((unwatch) => unwatch?.()).catch(ignore);
    clearTimeout(this.#watchAgain);
    this.#watching = undefined;
    await this.source.close?.();
  }

  /** To be tried again with a poll, after a while. */
  #watchLater(): void {
    clearTimeout(this.#watchAgain);
    this.#watchAgain = setTimeout(() => {
      this.#watching = undefined;
    }, WATCH_AGAIN_MS).unref();
  }

  #forget(): void {
    this.#known.clear();
    this.#records = {};
    this.#isLoaded = false;
    this.#failure = undefined;
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
    const closings = this.#closings;
    this.#next ??= this.#loading.then(ignore, ignore).then(() => {
      this.#next = undefined;
      if (closings === this.#closings) return this.load();
      throw new StoreError('SLUICE_STORE_FAILED', 'the policies were closed meanwhile');
    });
    return this.#next;
  }

  /** Answers when anything is known: with the load in progress, where there is one. */
  async loaded(): Promise<void> {
    if (!this.#isLoaded) await (this.#loading ?? this.load());
  }

  /** Loads, where somebody follows the source. Does not reject: the next poll asks again. */
  async refresh(): Promise<void> {
    if (this.#users > 0) await this.load().catch(ignore);
  }

  async #ask(): Promise<void> {
    try {
      const records: unknown = await withinDeadline(this.source.load(), LONGEST_LOAD_MS, { abandoned: false }, false);
      if (typeof records !== 'object' || records === null) {
        throw new StoreError('SLUICE_STORE_REPLY_INVALID', 'the source of policies answered no records');
      }
      this.#adopt(records as Readonly<Record<string, unknown>>);
      this.#isLoaded = true;
      this.#failure = undefined;
    } catch (error) {
      this.#failure = asStoreError(error);
      throw this.#failure;
    }
  }

  #adopt(records: Readonly<Record<string, unknown>>): void {
    if (records === this.#records && Object.isFrozen(records)) return; // nothing has changed, says the source
    this.#records = records;
    for (const [name, record] of Object.entries(records)) {
      const text = textOf(record);
      const before = this.#known.get(name);
      if (before?.text === text) {
        this.#known.set(name, { ...before, record });
        continue;
      }
      const definition = definitionOf(name, record);
      if (before !== undefined && definition.version < before.definition.version) warnOfLoss(name);
      else this.#known.set(name, { record, text, definition });
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
    const closings = this.#closings;
    let isLive = true;
    try {
      return await this.source.watch?.(
        () => {
          // What was opened for the source is not opened again by a message that comes late.
          if (closings === this.#closings) this.load().catch(ignore); // the next poll asks again
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
  // Whoever asked for it hears of it.
}

/** What a record says; nothing of what is no JSON. */
function textOf(record: unknown): string {
  try {
    return JSON.stringify(record);
  } catch {
    return '';
  }
}

function warnOfLoss(name: string): void {
  warnOnce(
    'SLUICE_POLICIES_LOST',
    `the managed policy ${name} is gone from its source without having been removed, or is there in an older version (a server restarted empty?). ` +
      'What was known of it last goes on; put it again, so that processes that start now know it too.',
    name,
  );
}
