import { asStoreError, StoreError } from '../errors.ts';
import type { ChangeEvent } from '../events/event.ts';
import { detached, startTimer, stopTimer, within, type Timer } from '../platform.ts';
import { warnOnce } from '../warnings.ts';
import { PolicyCopy } from './policy-copy.ts';
import type { Draft, Held, PolicyRecord } from './record.ts';
import { ignore, type Feed, type Page } from './source.ts';
import { readRecordName } from './target.ts';

/** If a notification is lost, or there is none, a change is found within a second. */
const POLL_MS = 500;
/** Until the first load, requests have no policy. */
const POLL_AT_FIRST_MS = 100;
const MAX_CALL_MS = 2000;
/** How many reads in a row fail before a warning: one may have been late. */
const MAX_FAILURES = 3;
/**
 * Other work gets its turn after this many records, here and in the source: writing them keeps Redis busy for about 2
 * ms.
 */
const SLICE = 250;
/** How often the copy is searched for records that have been useless for a week. */
const SWEEP_MS = 3_600_000;

/** Keeps a copy of a source up to date while any limiter uses it, and writes back what the source has lost. */
export class Follower {
  readonly feed: Feed;
  readonly copy: PolicyCopy;
  /** The names of records that the source has lost, or has in an earlier version, and that are not written back yet. */
  readonly lost: Set<string> = new Set<string>();
  /** How far the source's clock was ahead of this process's monotonic clock at the last answer. */
  #aheadMs = Date.now() - performance.now();
  /** The load in progress, and the next one for callers that ask meanwhile, because this one may miss their change. */
  #loading: Promise<void> | undefined;
  #next: Promise<void> | undefined;
  #isLoaded = false;
  #failure: Error | undefined;
  #failures = 0;
  /** The last page, without its records. */
  #last: Page | undefined;
  /** Names not seen again since the source began to return all records. */
  #unseen: Set<string> | undefined;
  /** Ends the event of a loss in progress. */
  #endLoss: ReturnType<Feed['timeline']['begin']> | undefined;
  #sweepAtMs = 0;
  #users = 0;
  /** Whether nothing may open the source again. */
  #isClosed = false;
  #timer: Timer | undefined;
  #unwatch: (() => void) | undefined;

  constructor(feed: Feed) {
    this.feed = feed;
    this.copy = new PolicyCopy(() => this.nowMs());
  }

  /** The clock of the source: the end of an override does not depend on the clock of this process. */
  nowMs(): number {
    return Math.floor(this.#aheadMs + performance.now());
  }

  /**
   * Undefined once the source has been read. Until then, a promise that resolves with the first load, and rejects at
   * once while the source is failing.
   */
  firstLoad(): Promise<void> | undefined {
    if (this.#isLoaded) return undefined;
    return this.#failure === undefined ? (this.#loading ?? this.load()) : Promise.reject(this.#failure);
  }

  /**
   * Adds a user. The first user starts following the source. Returns a function that removes the user; removing the
   * last one stops following.
   */
  enter(): () => Promise<void> {
    this.#users++;
    if (this.#users === 1) this.#follow();
    let isIn = true;
    return async () => {
      if (isIn) this.#users--;
      isIn = false;
      await this.close();
    };
  }

  /** Closes what was opened for the source, if there are no users. */
  async close(): Promise<void> {
    if (this.#users > 0) return;
    this.#isClosed = true;
    stopTimer(this.#timer);
    this.#unwatch?.();
    this.#unwatch = undefined;
    await this.feed.close();
  }

  /**
   * Reads what has changed, and writes back what the source has lost, if the source is writable.
   *
   * @throws (rejects) StoreError.
   */
  load(): Promise<void> {
    this.#isClosed = false;
    if (this.#loading === undefined) return this.#start();
    return (this.#next ??= this.#loading.then(ignore, ignore).then(() => {
      this.#next = undefined;
      return this.#loading ?? this.#start();
    }));
  }

  /** Makes the next load read all records. */
  readFromStart(): void {
    this.#last = undefined;
  }

  #start(): Promise<void> {
    return (this.#loading = this.#load().finally(() => {
      this.#loading = undefined;
    }));
  }

  /**
   * Replaces the known record, which {@link load} must just have read, and writes the event. Returns undefined if
   * another process has changed it.
   */
  async put(
    name: string,
    draft: Draft,
    before: Held | undefined,
    event: ChangeEvent,
  ): Promise<PolicyRecord | undefined> {
    if (this.lost.has(name)) await this.#restore(); // it failed just before, and says why
    const atMs = await withinTime(this.feed.put(name, draft, before, event));
    if (atMs === 0) return undefined;
    const record: PolicyRecord = { atMs, ...draft };
    this.copy.adopt(name, record);
    return record;
  }

  #follow(): void {
    this.#isLoaded = false; // what was read for earlier users may be outdated
    this.#failure = undefined;
    const changed = (): void => {
      if (this.#users > 0) this.load().catch(ignore);
    };
    const poll = async (unwatch: () => void): Promise<void> => {
      await this.load().catch(ignore);
      if (unwatch === this.#unwatch)
        this.#timer = startTimer(this.#isLoaded ? POLL_MS : POLL_AT_FIRST_MS, () => void poll(unwatch));
    };
    detached(() => {
      this.#unwatch = this.feed.watch(changed);
      void poll(this.#unwatch);
    });
  }

  async #load(): Promise<void> {
    try {
      do await this.#readPage();
      while (this.#last?.hasMore === true);
      this.#isLoaded = true;
      this.#failure = undefined;
      this.#failures = 0;
    } catch (error) {
      this.#failure = error as Error;
      this.#failures++;
      if (this.#isLoaded && this.#failures === MAX_FAILURES) this.#warnOfAbsence(this.#failure.message);
      throw this.#failure;
    }
    if (this.lost.size > 0) await this.#restore().catch(ignore);
    // Other processes may have written it back.
    if (this.lost.size === 0 && this.#endLoss !== undefined) {
      void this.#endLoss({ endAtMs: this.nowMs(), after: 'written back' });
      this.#endLoss = undefined;
    }
    void this.feed.timeline.follow();
    if (this.feed.forget !== undefined && this.nowMs() >= this.#sweepAtMs) this.#sweep();
  }

  async #readPage(): Promise<void> {
    if (this.#isClosed) throw new StoreError('SLUICE_STORE_FAILED', 'the policies were closed during the call');
    const page = await withinTime(this.feed.read(this.#last));
    this.#aheadMs = page.nowMs - performance.now();
    if (page.isFromStart) this.#unseen = new Set([...this.copy.entries()].map(([name]) => name));
    await this.#adopt(page);
    this.#last = { ...page, records: [] };
    if (page.hasMore) return;
    for (const name of this.#unseen ?? []) {
      const held = this.copy.get(name);
      if (held === undefined) continue;
      if (held.record.atMs === 0 && held.problem !== undefined) this.copy.delete(name);
      else if (!this.copy.isExpired(name, held)) this.lost.add(name);
    }
    this.#unseen = undefined;
  }

  async #adopt({ records }: Page): Promise<void> {
    let count = 0;
    for (const [name, given] of records) {
      this.#unseen?.delete(name);
      if (this.copy.adopt(name, given)) this.lost.delete(name);
      else this.lost.add(name);
      if (++count % SLICE === 0) await new Promise((resolve) => setTimeout(resolve));
    }
  }

  /**
   * Writes back what the source has lost. All processes do this at the same time, so each starts at a different place,
   * and skips what others have written back meanwhile.
   */
  async #restore(): Promise<void> {
    const { feed, lost, copy } = this;
    warnAboutLoss([...lost], feed);
    const limit = [...new Set(Array.from(lost, (name) => readRecordName(name).policy))].sort().join(', ');
    const before = countRecords([...lost]);
    this.#endLoss ??= feed.timeline.begin({ atMs: this.nowMs(), what: 'lost', limit, before });
    if (feed.restore === undefined) return;
    const overrides = [...lost].filter(isOverride);
    const begin = Math.floor(Math.random() * overrides.length);
    // Policies first: without them, requests are unconfigured.
    const names = [...lost].filter((name) => !isOverride(name));
    names.push(...overrides.slice(begin), ...overrides.slice(0, begin));
    while (names.length > 0) {
      const records = names.splice(0, SLICE).flatMap((name) => {
        const held = lost.has(name) ? copy.get(name) : undefined;
        return held === undefined ? [] : [[name, held.record] as const];
      });
      if (records.length === 0) continue;
      await withinTime(feed.restore(records));
      for (const [name] of records) lost.delete(name);
      await this.#readPage();
    }
  }

  #warnOfAbsence(why: string): void {
    const { name } = this.feed;
    warnOnce(
      'SLUICE_POLICIES_AWAY',
      `${name} cannot be read (${why}). The last known policies and overrides apply until it can be read again.`,
      name,
    );
  }

  /** Deletes records that have been useless for a week, here and in the source. */
  #sweep(): void {
    this.#sweepAtMs = this.nowMs() + SWEEP_MS;
    const expired = [...this.copy.entries()].filter(([name, held]) => this.copy.isExpired(name, held));
    for (const [name] of expired) {
      this.copy.delete(name);
      this.lost.delete(name);
    }
    const records = expired.map(([name, { record }]) => [name, record] as const);
    for (let i = 0; i < records.length; i += SLICE) this.feed.forget?.(records.slice(i, i + SLICE)).catch(ignore);
  }
}

/** @throws (rejects) StoreError, `SLUICE_STORE_TIMEOUT` if the source does not answer. */
function withinTime<Result>(call: Promise<Result>): Promise<Result> {
  const text = `the source of policies did not answer within ${String(MAX_CALL_MS)} ms`;
  const late = (): Error => new StoreError('SLUICE_STORE_TIMEOUT', text);
  return within(MAX_CALL_MS, call, late).catch((error: unknown) => {
    throw asStoreError(error);
  });
}

function isOverride(name: string): boolean {
  return name.includes(':');
}

function warnAboutLoss(names: readonly string[], feed: Feed): void {
  const [first = ''] = names;
  warnOnce(
    'SLUICE_POLICIES_LOST',
    `${feed.name} lost ${countRecords(names)} of managed policies without a removal, or has older ones (did the server restart empty?), such as ${first}. ` +
      (feed.restore === undefined ? 'They stay in use here; put them again.' : 'This process writes its copies back.'),
    first,
  );
}

function countRecords({ length }: readonly string[]): string {
  return `${String(length)} ${length === 1 ? 'record' : 'records'}`;
}
