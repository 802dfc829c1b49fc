import { settleKeys } from '@sluice/core/spi';
import { makePeerLimiter, MAX_WINDOW_MS, roundMs, type CallLimiter, type PeerStoreOptions } from '../call-limiter.ts';

/** What `@fastify/rate-limit` passes to a store: the plugin's options, or a route's options with its place. */
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
  /** Like {@link incr}, but counts nothing. */
  read(key: string, callback: FastifyStoreCallback, timeWindow: number, max?: number): void;
  /** The store of a route with its own options, which counts separately. */
  child(options: object): FastifyStore;
}

/** The class that the option `store` of `@fastify/rate-limit` takes. */
export type FastifyStoreClass = new (options: PluginOptions) => FastifyStore;

/**
 * A store class for `@fastify/rate-limit`, on a Sluice store: each hit is one atomic call, by that store's clock. With
 * `continueExceeding`, a hit over `max` takes a second call, which restarts its window. With `exponentialBackoff`,
 * every hit takes two calls, the first of which reads the length of its window; two simultaneous hits over `max` may
 * count as one.
 *
 * @throws PolicyError for an invalid name or option.
 */
export function fastifyStore(options: PeerStoreOptions): FastifyStoreClass {
  const limiter = makePeerLimiter(options, 'fastifyStore', { name: 'fastify-rate-limit' });
  return class SluiceFastifyStore extends CountingStore {
    constructor(plugin: PluginOptions) {
      super(limiter, plugin, '');
    }
  };
}

/** What a decision tells about a window, and a window that was extended. */
interface Hits {
  readonly used: number;
  readonly resetAfterMs: number;
}

class CountingStore implements FastifyStore {
  readonly #limiter: CallLimiter;
  readonly #plugin: PluginOptions;
  readonly #prefix: string;

  constructor(limiter: CallLimiter, plugin: PluginOptions, prefix: string) {
    this.#limiter = limiter;
    this.#plugin = plugin;
    this.#prefix = prefix;
  }

  incr(key: string, callback: FastifyStoreCallback, timeWindow: number, max: number): void {
    answer(this.#count(`${this.#prefix}${key}`, timeWindow, max), callback);
  }

  read(key: string, callback: FastifyStoreCallback, timeWindow: number): void {
    const windowMs = this.#plugin.exponentialBackoff === true ? MAX_WINDOW_MS : timeWindow;
    answer(this.#decide('peek', `${this.#prefix}${key}`, windowMs), callback);
  }

  child(options: object): FastifyStore {
    const { method, url } = (options as PluginOptions).routeInfo ?? {};
    return new CountingStore(this.#limiter, options, `${this.#prefix}${String(method)}${String(url)}-`);
  }

  async #count(key: string, timeWindow: number, max: number): Promise<Hits> {
    const { continueExceeding, exponentialBackoff } = this.#plugin;
    if (continueExceeding === true) {
      const hits = await this.#decide('take', key, timeWindow);
      return hits.used > max ? this.#restart(key, timeWindow, hits.used) : hits;
    }
    if (exponentialBackoff !== true) return this.#decide('take', key, timeWindow);
    // A policy reads a longer window as its own; the longest policy reads every window unchanged.
    const before = (await this.#decide('peek', key, MAX_WINDOW_MS)).used;
    const hits = before < max ? await this.#decide('take', key, timeWindow) : undefined;
    if (hits !== undefined && hits.used <= max) return hits;
    const used = hits?.used ?? before + 1;
    return this.#restart(key, timeWindow * 2 ** (used - max - 1), used);
  }

  async #decide(op: 'take' | 'peek', key: string, windowMs: number): Promise<Hits> {
    return this.#limiter.decide(op, [this.#limiter.hit(key, windowMs)]);
  }

  /** Starts a window with this count now. Both steps are one call to the store. */
  async #restart(key: string, windowMs: number, used: number): Promise<Hits> {
    const hit = this.#limiter.hit(key, windowMs);
    await Promise.all([
      this.#limiter.edit('reset', hit),
      settleKeys(this.#limiter, 'charge', [{ ...hit, cost: used }]),
    ]);
    return { used, resetAfterMs: roundMs(windowMs) };
  }
}

function answer(hits: Promise<Hits>, callback: FastifyStoreCallback): void {
  hits.then(
    ({ used, resetAfterMs }) => {
      callback(null, { current: used, ttl: resetAfterMs });
    },
    (error: unknown) => {
      callback(findFirstCause(error));
    },
  );
}

/** The client's error, as the peer's own store passes it on: a response may contain its message. */
function findFirstCause(error: unknown): Error {
  const { cause, name } = error as Error;
  if (cause instanceof Error) return findFirstCause(cause);
  // How ioredis marks a call that it must not resend.
  return name === 'AbortError' ? new Error('Connection is closed.', { cause: error }) : (error as Error);
}
