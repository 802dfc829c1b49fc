import { memoryStore, slidingWindow, type Policy } from '@sluice/core';
import { CallLimiter, roundLimit, roundMs, wholeSeconds, writeMs, type PeerStoreOptions } from './call-limiter.ts';

export interface BetterAuthStorageOptions extends Partial<Omit<PeerStoreOptions, 'onStoreError'>> {
  /** While the store fails: count in this process's memory, deny all requests, or throw. Default `'local'`. */
  readonly onStoreError?: 'local' | 'deny' | 'throw';
}

/** The interface that better-auth expects of `customStorage`. Times are in seconds, rounded up. */
export interface BetterAuthStorage {
  consume(
    key: string,
    rule: { readonly window: number; readonly max: number },
  ): Promise<{ allowed: boolean; retryAfter: number | null }>;
  /** Leaves the store, and closes it if nothing else uses it. */
  close(): Promise<void>;
}

/**
 * A storage for better-auth 1.7, as `rateLimit: { customStorage: betterAuthStorage() }`: at most `max` requests in any
 * `window`, in one atomic call each, by the store's clock; by default in its own memory, under the name `better-auth`.
 * A denied request changes nothing, and its wait is at most a tenth longer than the window.
 *
 * @throws PolicyError for an invalid name or option.
 */
export function betterAuthStorage(options: BetterAuthStorageOptions = {}): BetterAuthStorage {
  const limiter = new CallLimiter({ store: memoryStore(), name: 'better-auth', denialCache: true, ...options });
  return {
    async consume(key, { window, max }) {
      const [ms, limit] = [roundMs(window * 1000), roundLimit(max)];
      const makePolicy = (): Policy => slidingWindow({ limit, window: writeMs(ms) });
      const { allowed, retryAfterMs } = await limiter.decide('take', [limiter.want(key, [ms, limit], makePolicy)]);
      return { allowed, retryAfter: allowed || retryAfterMs === null ? null : wholeSeconds(retryAfterMs) };
    },
    close: () => limiter.close(),
  };
}
