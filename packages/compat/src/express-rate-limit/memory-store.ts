import { memoryHits, type Hits, type StoreHits } from '../hits/store-hits.ts';
import type { ClientRateLimitInfo, Options, Store } from './options.ts';
import type { Validations } from './validations.ts';

const DEFAULT_WINDOW_MS = 60_000;

/** As {@link MemoryStore.increment}, in the same tick: see {@link StoreHits.hit}. */
export let hitInMemory: <T>(
  store: MemoryStore,
  key: string,
  limit: number,
  answer: (info: ClientRateLimitInfo) => T | Promise<T>,
  failed: (error: unknown) => T,
) => T | Promise<T>;

/** Hits in the memory of this process: at most 100 000 keys, and those that are denied stay longest. */
export class MemoryStore implements Store {
  static {
    hitInMemory = (store, key, limit, answer, failed) =>
      store.#counted().hit(key, store.#windowMs, limit, (hits) => answer(infoOf(hits)), failed);
  }

  /** The length of a window, in milliseconds. Set by `init`. */
  windowMs!: number;
  /** The keys of one instance are not those of another. */
  localKeys = true;
  readonly #validations: Validations | undefined;
  #hits: StoreHits | undefined;
  #windowMs = DEFAULT_WINDOW_MS;

  constructor(validations?: Validations) {
    this.#validations = validations;
  }

  init(options: Options): void {
    this.windowMs = options.windowMs;
    this.#windowMs = options.windowMs;
    this.#validations?.windowMs(this.windowMs);
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const hits = await this.#counted().peek(key, this.#windowMs);
    return hits && infoOf(hits);
  }

  /** @param limit - The limit of the hit, where it is known: keys that exceed theirs are evicted last. */
  async increment(key: string, limit?: number): Promise<ClientRateLimitInfo> {
    return this.#counted().hit(key, this.#windowMs, limit, infoOf);
  }

  async decrement(key: string): Promise<void> {
    await this.#counted().takeBack(key, this.#windowMs);
  }

  async resetKey(key: string): Promise<void> {
    await this.#counted().reset(key, this.#windowMs);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- async, so that every error is a rejection
  async resetAll(): Promise<void> {
    this.#counted().resetAll();
  }

  /** Forgets all keys. */
  shutdown(): void {
    void this.#hits?.close();
    this.#hits = undefined;
  }

  /** Made on first use: a subclass may count elsewhere. */
  #counted(): StoreHits {
    return (this.#hits ??= memoryHits('express-rate-limit'));
  }
}

/** By the clock of this process, which header fields are made with: the store's own may differ. */
export function infoOf({ total, resetAfterMs }: Hits): ClientRateLimitInfo {
  return { totalHits: total, resetTime: new Date(Date.now() + resetAfterMs) };
}
