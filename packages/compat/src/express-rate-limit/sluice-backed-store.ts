import type { Store as SluiceStore } from '@sluice/old-core';
import { StoreHits } from '../hits/store-hits.ts';
import { infoOf } from './memory-store.ts';
import type { ClientRateLimitInfo, Options, Store } from './options.ts';

export interface SluiceBackedStoreOptions {
  /** Where hits are counted: `redisStore(...)`, or any other store of Sluice. */
  readonly store: SluiceStore;
  /**
   * Limiters of one name share what they count, and others do not: give each one its own. Part of keys, and in metrics.
   * Default `'express-rate-limit'`.
   */
  readonly name?: string;
  /** While the store fails: the error of the peer, or counts in this process's memory. Default `'throw'`. */
  readonly onStoreError?: 'throw' | 'local';
  /** The longest a hit waits for the store, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

const DEFAULT_WINDOW_MS = 60_000;

/** As {@link SluiceBackedStore.increment}, with one promise less, and none in memory: see {@link StoreHits.hit}. */
export let hitBacked: <T>(
  store: SluiceBackedStore,
  key: string,
  limit: number,
  answer: (info: ClientRateLimitInfo) => T | Promise<T>,
  failed: (error: unknown) => T,
) => T | Promise<T>;

/**
 * A store of express-rate-limit on a store of Sluice: each hit is one atomic call, by the clock of that store.
 *
 * @throws PolicyError for an invalid name or option.
 */
export class SluiceBackedStore implements Store {
  static {
    hitBacked = (store, key, limit, answer, failed) =>
      store.#hits.hit(key, store.#windowMs, limit, (hits) => answer(infoOf(hits)), failed);
  }

  readonly localKeys: boolean;
  /** Before each key, so that limiters of other names are told apart. */
  readonly prefix: string;
  readonly #hits: StoreHits;
  #windowMs = DEFAULT_WINDOW_MS;

  constructor(options: SluiceBackedStoreOptions) {
    const { store, name = 'express-rate-limit' } = options;
    this.localKeys = store.source === 'memory';
    this.prefix = `${name}:`;
    this.#hits = new StoreHits({ ...options, name });
  }

  init({ windowMs }: Options): void {
    this.#windowMs = windowMs;
  }

  /** @param limit - The limit of the hit, where it is known: in memory, keys that exceed theirs are evicted last. */
  increment(key: string, limit?: number): Promise<ClientRateLimitInfo> {
    return Promise.resolve(this.#hits.hit(key, this.#windowMs, limit, infoOf, rejected));
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const hits = await this.#hits.peek(key, this.#windowMs);
    return hits && infoOf(hits);
  }

  async decrement(key: string): Promise<void> {
    await this.#hits.takeBack(key, this.#windowMs);
  }

  async resetKey(key: string): Promise<void> {
    await this.#hits.reset(key, this.#windowMs);
  }

  /** Leaves the store of Sluice, and closes it where nothing else uses it. */
  async shutdown(): Promise<void> {
    await this.#hits.close();
  }
}

// eslint-disable-next-line @typescript-eslint/require-await -- a rejection
async function rejected(error: unknown): Promise<never> {
  throw error;
}

/** Whether an object is a store of Sluice, and none of express-rate-limit. */
export function isSluiceStore(store: object): store is SluiceStore {
  const { perform, increment } = store as Partial<SluiceStore & Store>;
  return typeof perform === 'function' && typeof increment !== 'function';
}
