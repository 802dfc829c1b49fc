import type { IncrementResponse, LegacyStore, Store } from './options.ts';

/** Whether a store has callbacks alone. One that has both is a {@link Store}. */
export function isLegacyStore(store: object): store is LegacyStore {
  const { incr, increment } = store as Partial<LegacyStore & Store>;
  return typeof incr === 'function' && typeof increment !== 'function';
}

/** A {@link Store} on a store with callbacks. */
export class PromisifiedStore implements Store {
  readonly #legacy: LegacyStore;

  constructor(legacy: LegacyStore) {
    this.#legacy = legacy;
  }

  increment(key: string): Promise<IncrementResponse> {
    return new Promise((resolve, reject) => {
      this.#legacy.incr(key, (error, totalHits, resetTime) => {
        if (error) reject(error);
        else resolve({ totalHits, resetTime });
      });
    });
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- async, so that every error is a rejection
  async decrement(key: string): Promise<void> {
    this.#legacy.decrement(key);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async resetKey(key: string): Promise<void> {
    this.#legacy.resetKey(key);
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- as above
  async resetAll(): Promise<void> {
    this.#legacy.resetAll?.();
  }
}

/** @throws TypeError for an object that is no store. */
export function checkStore(store: Store): void {
  const { increment, decrement, resetKey, resetAll, init } = store as Record<keyof Store, unknown>;
  const isOptional = (method: unknown): boolean => method === undefined || typeof method === 'function';
  const needed = [increment, decrement, resetKey].every((method) => typeof method === 'function');
  if (needed && isOptional(resetAll) && isOptional(init)) return;
  throw new TypeError(
    'store must be a Store of express-rate-limit (increment, decrement and resetKey), redisStore(...) or memoryStore()',
  );
}
