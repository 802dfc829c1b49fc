import { fixedWindow, memoryStore, type Decision, type Duration, type Limit, type Store } from '@sluice/old-core';
import { LARGEST_LIMIT, LONGEST_MS, LimiterCore, encodeSubject, isPending, namePolicies } from '@sluice/old-core/spi';
import { unitsWithin, windowWithin } from './bounds.ts';

/** What a key has used of its window. */
export interface Hits {
  /** Hits of the window, those over the limit included. */
  readonly total: number;
  /** Milliseconds until the window ends. */
  readonly resetAfterMs: number;
}

export interface StoreHitsOptions {
  readonly store: Store;
  /** The name of the limiter: part of keys, and in metrics. */
  readonly name: string;
  readonly onStoreError?: 'throw' | 'local' | undefined;
  readonly timeoutMs?: number | undefined;
}

/** Limits are made once. A limit that is a function has a value for each plan, and seldom more than this. */
const MOST_LIMITS = 256;

/**
 * Counts hits in windows that begin at the first hit, as the peers count: a hit over the limit counts too. Each hit is
 * one atomic call of the store, by the store's clock. States keep the numbers of no limit: limits of a key that differ
 * between calls share one count.
 */
export class StoreHits {
  readonly #core: LimiterCore;
  readonly #isMemory: boolean;
  readonly #limits = new Map<string, Limit>();
  #last: { readonly windowMs: number; readonly units: number; readonly limit: Limit } | undefined;

  /** @throws PolicyError for a name that is not one, or an option that is none. */
  constructor({ store, name, onStoreError = 'throw', timeoutMs }: StoreHitsOptions) {
    this.#isMemory = store.source === 'memory';
    this.#core = new LimiterCore({ store, name, shared: true, onStoreError, timeoutMs, denialCache: false });
    this.#core.claim();
  }

  /**
   * Adds a hit: in memory in the same tick, elsewhere with one promise.
   *
   * @param limit - Of the hit, where it is known: in memory, keys that exceed it are evicted last.
   * @param answer - What the hits become: the answer of the peer.
   * @param failed - What a failure of the store becomes. Default: it is thrown, or the promise rejects with it.
   */
  hit<T>(
    key: string,
    windowMs: number,
    limit: number | undefined,
    answer: (hits: Hits) => T | Promise<T>,
    failed?: (error: unknown) => T | Promise<T>,
  ): T | Promise<T> {
    let hits: Hits;
    try {
      const { subject, key: text } = subjectOf(key);
      const counted = this.#isMemory ? limit : undefined;
      const decided = this.#core.consume(this.#limitOf(windowMs, counted), subject, 1, text);
      if (isPending(decided)) return decided.then((decision) => answer(hitsOf(decision)), failed);
      hits = decided.allowed ? hitsOf(decided) : this.#countDenied(decided, subject, windowMs);
    } catch (error) {
      if (failed === undefined) throw error;
      return failed(error);
    }
    return answer(hits);
  }

  /** At once, before any other hit: memory charges without waiting. */
  #countDenied({ used, resetAfterMs }: Decision, subject: string, windowMs: number): Hits {
    void this.#core.settleKeys('charge', [{ limit: this.#limitOf(windowMs), subject, cost: 1 }]);
    return { total: used + 1, resetAfterMs: resetAfterMs > 0 ? resetAfterMs : windowMs };
  }

  /** The hits of a key; undefined where it has no window. Writes nothing. */
  async peek(key: string, windowMs: number): Promise<Hits | undefined> {
    const part = { limit: this.#limitOf(windowMs), cost: 1, ...subjectOf(key) };
    const hits = hitsOf(await this.#core.decide('peek', [part]));
    return hits.resetAfterMs > 0 ? hits : undefined;
  }

  /** Takes one hit back, in the present window, and not below 0. */
  async takeBack(key: string, windowMs: number): Promise<void> {
    await this.#core.settleKeys('refund', [{ limit: this.#limitOf(windowMs), cost: 1, ...subjectOf(key) }]);
  }

  async reset(key: string, windowMs: number): Promise<void> {
    await this.#core.edit([{ op: 'reset', part: { limit: this.#limitOf(windowMs), cost: 0, ...subjectOf(key) } }]);
  }

  /**
   * Begins a window of another length with this count, in one call. Hits that are counted in between are lost: for keys
   * that exceed their limit either way.
   */
  async restart(key: string, windowMs: number, total: number): Promise<void> {
    const part = { limit: this.#limitOf(windowMs), ...subjectOf(key) };
    await this.#core.settle([
      { op: 'reset', part: { ...part, cost: 0 } },
      { op: 'charge', part: { ...part, cost: total } },
    ]);
  }

  /** @throws SluiceError `SLUICE_RESET_ALL_UNSUPPORTED` where the store is no memory store. */
  resetAll(): void {
    this.#core.resetAll([]);
  }

  async close(): Promise<void> {
    await this.#core.close();
  }

  /**
   * Where no limit is given, none is exceeded, and every hit is allowed and counted by the fast path. All of them read
   * one state: a key's state holds no limit.
   */
  #limitOf(windowMs: number, units: number = LARGEST_LIMIT): Limit {
    const last = this.#last;
    if (last?.windowMs === windowMs && last.units === units) return last.limit;
    const id = `${String(windowMs)}|${String(units)}`;
    const limit = this.#limits.get(id) ?? this.#made(windowMs, units);
    if (this.#limits.size >= MOST_LIMITS) this.#limits.clear();
    this.#limits.set(id, limit);
    this.#last = { windowMs, units, limit };
    return limit;
  }

  #made(windowMs: number, units: number): Limit {
    const policy = fixedWindow({ limit: limitOf(units), window: windowOf(windowMs) });
    return this.#core.limits.of(namePolicies(policy, this.#core.name));
  }
}

/** Hits in a memory of their own, by the clock of `Date`: its instants are those that header fields are made of. */
export function memoryHits(name: string, maxKeys?: number): StoreHits {
  return new StoreHits({ store: memoryStore({ clock: Date, ...(maxKeys === undefined ? {} : { maxKeys }) }), name });
}

/** JavaScript can give any key: a user without an id is `undefined`, which the peers count as one client. */
function subjectOf(given: unknown): { readonly subject: string; readonly key: string } {
  const key = typeof given === 'string' ? given : String(given);
  return { subject: encodeSubject(key), key };
}

function hitsOf({ used, policies }: Decision): Hits {
  return { total: used, resetAfterMs: policies[0]?.resetAfterMs ?? 0 };
}

/** A limit that is no number is none. */
function limitOf(units: number): number {
  return Number.isNaN(units) ? LARGEST_LIMIT : unitsWithin(units);
}

function windowOf(windowMs: number): Duration {
  return windowWithin(Number.isNaN(windowMs) ? LONGEST_MS : windowMs);
}
