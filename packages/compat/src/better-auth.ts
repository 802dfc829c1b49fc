import { memoryStore, slidingWindow, type Limit, type Store } from '@sluice/old-core';
import { LimiterCore, encodeSubject, namePolicies } from '@sluice/old-core/spi';
import { secondsOf, unitsWithin, windowWithin } from './hits/bounds.ts';

export interface BetterAuthStorageOptions {
  /** Where requests are counted: `redisStore(...)`, or any other store of Sluice. Default: a memory of its own. */
  readonly store?: Store;
  /** The name of the limiter: part of keys, and in metrics. Default `'better-auth'`. */
  readonly name?: string;
  /** While the store fails: counts in this process's memory, no more requests, or an error. Default `'local'`. */
  readonly onStoreError?: 'local' | 'deny' | 'throw';
  /** The longest a request waits for the store, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

/** What `customStorage` of better-auth asks for. Times are in seconds, rounded up. */
export interface BetterAuthStorage {
  consume(
    key: string,
    rule: { readonly window: number; readonly max: number },
  ): Promise<{ allowed: boolean; retryAfter: number | null }>;
  /** Leaves the store, and closes it where nothing else uses it. */
  close(): Promise<void>;
}

/** Rules are made once; an application has few. */
const MOST_RULES = 256;

/**
 * A storage for better-auth 1.7, as `rateLimit: { customStorage: betterAuthStorage() }`: at most `max` requests in any
 * `window`, in one atomic call each, by the clock of the store. A denied request changes nothing, and the wait that it
 * is told of is the one after which it is allowed: at most a tenth longer than the window.
 *
 * @throws PolicyError for an invalid name or option.
 */
export function betterAuthStorage(options: BetterAuthStorageOptions = {}): BetterAuthStorage {
  const { store = memoryStore(), name = 'better-auth', onStoreError = 'local', timeoutMs } = options;
  const core = new LimiterCore({ store, name, shared: true, onStoreError, timeoutMs });
  core.claim();
  const limits = new Map<string, Limit>();
  const limitOf = (window: number, max: number): Limit => {
    const rule = `${String(window)}|${String(max)}`;
    const known = limits.get(rule);
    if (known !== undefined) return known;
    const policy = slidingWindow({ limit: unitsWithin(max), window: windowWithin(window * 1000) });
    const made = core.limits.of(namePolicies(policy, name));
    if (limits.size >= MOST_RULES) limits.clear();
    limits.set(rule, made);
    return made;
  };
  return {
    async consume(key, { window, max }) {
      const { allowed, retryAfterMs } = await core.consume(limitOf(window, max), encodeSubject(key), 1, key);
      return { allowed, retryAfter: allowed || retryAfterMs === null ? null : secondsOf(retryAfterMs) };
    },
    close: async () => core.close(),
  };
}
