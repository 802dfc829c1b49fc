import { randomUUID } from 'node:crypto';
import type { Store } from '@sluice/core';
import { connectionOf, guardOf } from '@sluice/core/spi';
import type { PageChange } from '../history.ts';
import type { PageRecord, SharedChange } from './page-record.ts';
import { RedisPages, WRITE_EVERY_S, type SharedPage, type SharedPages } from './redis-pages.ts';

/** What is known of the pages of other processes. */
export interface Others {
  readonly pages: readonly SharedPage[];
  readonly changes: readonly SharedChange[];
  /** Since when Redis has not answered; null: it does. */
  readonly awaySinceMs: number | null;
}

const READ_EVERY_MS = 2_000;
/** How long a reader waits for Redis, before it gets what is known. */
const PATIENCE_MS = 500;
/** A write that takes longer has no answer. */
const LONG_MS = 2_000;
const MOST_PLACES = 4;

/**
 * Shares what a page counts with those of other processes, in the Redis of its limiters: one write in five seconds, and
 * reads only while an operator looks. Where Redis does not answer, that is told, and nothing else happens.
 */
export class Sharing {
  readonly #id = randomUUID();
  readonly #stores: () => Iterable<Store>;
  readonly #recordNow: () => PageRecord;
  readonly #known = new WeakMap<Store, RedisPages>();
  #seconds = 0;
  /** Since when a write waits for Redis. */
  #writingSinceMs: number | undefined;
  #reading: Promise<void> | undefined;
  #readAtMs = 0;
  #awaySinceMs: number | null = null;
  #others: Pick<Others, 'pages' | 'changes'> = { pages: [], changes: [] };

  /** @param stores - Those of the limiters; which are not in Redis are left out. */
  constructor(stores: () => Iterable<Store>, recordNow: () => PageRecord) {
    this.#stores = stores;
    this.#recordNow = recordNow;
  }

  /** Without this page, whose counts are known. */
  get others(): Others {
    const waitsSinceMs = this.#writingSinceMs ?? Infinity;
    const isSlow = Date.now() - waitsSinceMs > LONG_MS;
    return { ...this.#others, awaySinceMs: this.#awaySinceMs ?? (isSlow ? waitsSinceMs : null) };
  }

  /** To be called once a second. */
  tick(): void {
    if (this.#seconds++ % WRITE_EVERY_S === 0) void this.write();
  }

  /** Writes the record of this page. Never rejects. */
  async write(): Promise<void> {
    if (this.#writingSinceMs !== undefined) return; // Redis is slow, or away
    this.#writingSinceMs = Date.now();
    await this.#each((pages) => pages.put(this.#id, this.#recordNow()));
    this.#writingSinceMs = undefined;
  }

  /** Tells the other pages of a change. Never rejects. */
  async tell(change: PageChange, isHashed: boolean): Promise<void> {
    const id = randomUUID();
    await this.#each((pages) => pages.addChange(id, { ...change, isHashed }));
    this.#readAtMs = 0;
  }

  /** Reads what the others have written, at most once in two seconds, and waits for half a second. Never rejects. */
  async refresh(): Promise<void> {
    if (Date.now() - this.#readAtMs < READ_EVERY_MS && this.#reading === undefined) return;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
    await Promise.race([this.#reading, late]);
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    this.#readAtMs = Date.now();
    const found: SharedPages[] = [];
    await this.#each(async (pages) => void found.push(await pages.read()));
    if (found.length === 0) return;
    const pages = new Map(found.flatMap((one) => one.pages.map((page) => [page.id, page] as const)));
    pages.delete(this.#id);
    this.#others = { pages: [...pages.values()], changes: found.flatMap(({ changes }) => changes) };
  }

  /** Does something in each place, and notes whether all have answered. */
  async #each(act: (pages: RedisPages) => Promise<void>): Promise<void> {
    const done = await Promise.allSettled(this.#places().map(act));
    const isAway = done.some(({ status }) => status === 'rejected');
    this.#awaySinceMs = isAway ? (this.#awaySinceMs ?? Date.now()) : null;
  }

  /** Each place of Redis once, which is asked for decisions already. */
  #places(): readonly RedisPages[] {
    const places = new Map<unknown, RedisPages>();
    for (const store of this.#stores()) {
      const pages = this.#pagesIn(store);
      if (pages !== undefined && guardOf(store).isUsed) places.set(store.place ?? store, pages);
    }
    return [...places.values()].slice(0, MOST_PLACES);
  }

  #pagesIn(store: Store): RedisPages | undefined {
    const connection = connectionOf(store);
    if (connection === undefined) return undefined;
    let pages = this.#known.get(store);
    if (pages === undefined) this.#known.set(store, (pages = new RedisPages(connection)));
    return pages;
  }
}
