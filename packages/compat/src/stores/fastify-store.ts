import { LONGEST_MS } from '@sluice/old-core/spi';
import type { Store } from '@sluice/old-core';
import { StoreHits, type Hits } from '../hits/store-hits.ts';

/** What `@fastify/rate-limit` hands a store: the options of the plugin, or those of a route with its place. */
interface PluginOptions {
  readonly continueExceeding?: boolean;
  readonly exponentialBackoff?: boolean;
  readonly routeInfo?: { readonly method?: string | readonly string[]; readonly url?: string };
}

/** Receives the hits of a key, and the milliseconds until its window ends. */
export type FastifyStoreCallback = (
  error: Error | null,
  result?: { readonly current: number; readonly ttl: number },
) => void;

/** A store of `@fastify/rate-limit`. */
export interface FastifyStore {
  /** Counts a hit. */
  incr(key: string, callback: FastifyStoreCallback, timeWindow: number, max: number): void;
  /** As {@link incr}, and counts nothing. */
  read(key: string, callback: FastifyStoreCallback, timeWindow: number, max?: number): void;
  /** The store of a route with options of its own, which counts apart. */
  child(options: object): FastifyStore;
}

/** The class that the option `store` of `@fastify/rate-limit` takes. */
export type FastifyStoreClass = new (options: PluginOptions) => FastifyStore;

export interface FastifyStoreOptions {
  /** Where hits are counted: `redisStore(...)`, or any other store of Sluice. */
  readonly store: Store;
  /** The name of the limiter: part of keys, and in metrics. Default `'fastify-rate-limit'`. */
  readonly name?: string;
  /** While the store fails: the error of the peer, or counts in this process's memory. Default `'throw'`. */
  readonly onStoreError?: 'throw' | 'local';
  /** The longest a hit waits for the store, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

/**
 * A store class for `@fastify/rate-limit`, on a store of Sluice: each hit is one atomic call, by the clock of that store.
 * With `continueExceeding` or `exponentialBackoff` a hit over `max` takes a second call, which begins a longer window.
 *
 * @throws PolicyError for an invalid name or option.
 */
export function fastifyStore(options: FastifyStoreOptions): FastifyStoreClass {
  const hits = new StoreHits({ ...options, name: options.name ?? 'fastify-rate-limit' });
  return class SluiceFastifyStore extends CountingStore {
    constructor(plugin: PluginOptions) {
      super(hits, plugin, '');
    }
  };
}

class CountingStore implements FastifyStore {
  readonly #hits: StoreHits;
  readonly #plugin: PluginOptions;
  readonly #prefix: string;

  constructor(hits: StoreHits, plugin: PluginOptions, prefix: string) {
    this.#hits = hits;
    this.#plugin = plugin;
    this.#prefix = prefix;
  }

  incr(key: string, callback: FastifyStoreCallback, timeWindow: number, max: number): void {
    const { continueExceeding, exponentialBackoff } = this.#plugin;
    const whole = this.#prefix + key;
    if (continueExceeding === true || exponentialBackoff === true) {
      answer(this.#exceed(whole, timeWindow, max), callback);
    } else this.#hit(whole, callback, timeWindow, max);
  }

  read(key: string, callback: FastifyStoreCallback, timeWindow: number): void {
    const read = this.#hits.peek(`${this.#prefix}${key}`, timeWindow);
    answer(
      read.then((hits) => hits ?? { total: 0, resetAfterMs: 0 }),
      callback,
    );
  }

  child(options: object): FastifyStore {
    const { method, url } = (options as PluginOptions).routeInfo ?? {};
    return new CountingStore(this.#hits, options, `${this.#prefix}${String(method)}${String(url)}-`);
  }

  /** In memory within the call, as the peer's own memory answers. */
  #hit(key: string, callback: FastifyStoreCallback, timeWindow: number, max: number): void {
    const answered = ({ total, resetAfterMs }: Hits): void => {
      callback(null, { current: total, ttl: resetAfterMs });
    };
    const failed = (error: unknown): void => {
      callback(failureOf(error));
    };
    void this.#hits.hit(key, timeWindow, max, answered, failed);
  }

  async #exceed(key: string, timeWindow: number, max: number): Promise<Hits> {
    const hits = await this.#hits.hit(key, timeWindow, max, itself);
    if (hits.total <= max) return hits;
    const overMs = this.#plugin.continueExceeding === true ? timeWindow : backoffMs(timeWindow, hits.total - max);
    await this.#hits.restart(key, overMs, hits.total);
    return { total: hits.total, resetAfterMs: overMs };
  }
}

function itself(hits: Hits): Hits {
  return hits;
}

/** Twice as long with each hit over the limit. */
function backoffMs(timeWindow: number, over: number): number {
  return Math.min(timeWindow * 2 ** (over - 1), LONGEST_MS);
}

function answer(hits: Promise<Hits>, callback: FastifyStoreCallback): void {
  hits.then(
    ({ total, resetAfterMs }) => {
      callback(null, { current: total, ttl: resetAfterMs });
    },
    (error: unknown) => {
      callback(failureOf(error));
    },
  );
}

/** The first error, which is the client's, as the peer's own store hands it on: a response may contain its message. */
function failureOf(error: unknown): Error {
  const { cause } = error as Error;
  return cause instanceof Error ? failureOf(cause) : (error as Error);
}
