import { randomUUID } from 'node:crypto';
import type { Store } from '@sluice/old-core';
import { connectionOf, guardOf, withinDeadline } from '@sluice/old-core/spi';
import type { PageChange } from '../history.ts';
import { Asking, LONG_MS } from './asking.ts';
import type { PageRecord, SharedChange } from './page-record.ts';
import { RedisPages, WRITE_EVERY_S, type SharedPage, type SharedPages } from './redis-pages.ts';

/** What is known of the pages of other processes. */
export interface Others {
  readonly pages: readonly SharedPage[];
  readonly changes: readonly SharedChange[];
  /** Since when Redis has not taken or given counts; null: it does both. */
  readonly awaySinceMs: number | null;
}

const READ_EVERY_MS = 2_000;
/** How long a reader waits for Redis, before it gets what is known. */
const PATIENCE_MS = 500;
const MOST_PLACES = 4;

/**
 * Shares what a page counts with those of other processes, in the Redis of its limiters: one write in five seconds, and
 * reads only while an operator looks. Where Redis does not answer, that is told, and nothing else happens.
 */
export class Sharing {
  readonly #id = randomUUID();
  readonly #stores: () => Iterable<Store>;
  readonly #recordNow: () => PageRecord;
  /** By client and prefix. */
  readonly #known = new WeakMap<object, Map<string, RedisPages>>();
  readonly #reads = new Asking(() => this.#places());
  readonly #writes = new Asking(() => this.#places());
  readonly #telling = new Set<Promise<void>>();
  #seconds = 0;
  #writing: Promise<void> | undefined;
  #reading: Promise<void> | undefined;
  /** When the others were read last, by `performance.now()`. */
  #readAtMs = -Infinity;
  #others: Pick<Others, 'pages' | 'changes'> = { pages: [], changes: [] };

  /** @param stores - Those of the limiters; which are not in Redis are left out. */
  constructor(stores: () => Iterable<Store>, recordNow: () => PageRecord) {
    this.#stores = stores;
    this.#recordNow = recordNow;
  }

  /** Without this page, whose counts are known. */
  get others(): Others {
    const sinceMs = [this.#reads, this.#writes].flatMap(({ failsSinceMs }) => failsSinceMs ?? []);
    return { ...this.#others, awaySinceMs: sinceMs.length === 0 ? null : Math.min(...sinceMs) };
  }

  /** To be called once a second. */
  tick(): void {
    if (this.#seconds++ % WRITE_EVERY_S === 0) void this.write();
  }

  /** Writes the record of this page, unless that is under way. Never rejects. */
  write(): Promise<void> {
    this.#writing ??= this.#writes
      .each((pages) => pages.put(this.#id, this.#recordNow()))
      .finally(() => (this.#writing = undefined));
    return this.#writing;
  }

  /** Tells the other pages of a change. Never rejects. */
  async tell(change: PageChange, isHashed: boolean): Promise<void> {
    const id = randomUUID();
    const told = this.#writes.each((pages) => pages.addChange(id, { ...change, isHashed }));
    this.#telling.add(told);
    await told;
    this.#telling.delete(told);
    this.#readAtMs = -Infinity;
  }

  /** Waits until what is under way is written, for two seconds at most. Never rejects. */
  async close(): Promise<void> {
    await withinDeadline(Promise.all([this.#writing, ...this.#telling]), LONG_MS).catch(() => undefined);
  }

  /** Reads what the others have written, at most once in two seconds, and waits for half a second. Never rejects. */
  async refresh(): Promise<void> {
    if (performance.now() - this.#readAtMs < READ_EVERY_MS && this.#reading === undefined) return;
    this.#reading ??= this.#read().finally(() => (this.#reading = undefined));
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
    await Promise.race([this.#reading, late]);
    clearTimeout(timer);
  }

  async #read(): Promise<void> {
    this.#readAtMs = performance.now();
    const found: SharedPages[] = [];
    await this.#reads.each(async (pages) => void found.push(await pages.read()));
    if (found.length === 0) return;
    const pages = new Map(found.flatMap((one) => one.pages.map((page) => [page.id, page] as const)));
    pages.delete(this.#id);
    this.#others = { pages: [...pages.values()], changes: found.flatMap(({ changes }) => changes) };
  }

  /** Each client of Redis with each prefix once, which is asked for decisions already. */
  #places(): readonly RedisPages[] {
    const places = new Set<RedisPages>();
    for (const store of this.#stores()) {
      const pages = this.#pagesIn(store);
      if (pages !== undefined && guardOf(store).isUsed) places.add(pages);
    }
    return [...places].slice(0, MOST_PLACES);
  }

  #pagesIn(store: Store): RedisPages | undefined {
    const connection = connectionOf(store);
    if (connection === undefined) return undefined;
    const { through, prefix } = connection;
    const byPrefix = this.#known.get(through) ?? new Map<string, RedisPages>();
    this.#known.set(through, byPrefix);
    const pages = byPrefix.get(prefix) ?? new RedisPages(connection);
    byPrefix.set(prefix, pages);
    return pages;
  }
}
