import type { Decision } from '@sluice/core';
import { settleKeys, type Want } from '@sluice/core/spi';
import type { ClientRateLimitInfo, Options, Store } from './options.ts';
import { makePeerLimiter, type CallLimiter, type PeerStoreOptions } from '../call-limiter.ts';

/**
 * A store for express-rate-limit, on a Sluice store: each hit is one atomic call, by that store's clock. Give each
 * limiter its own name.
 *
 * @throws PolicyError for an invalid name or option.
 */
export class ExpressStore implements Store {
  readonly localKeys: boolean;
  /** In front of each key, to tell limiters with different names apart. */
  readonly prefix: string;
  /** The length of a window, in milliseconds. Set by `init`. */
  windowMs = 60_000;
  readonly #limiter: CallLimiter;

  constructor(options: PeerStoreOptions) {
    this.#limiter = makePeerLimiter(options, 'new ExpressStore', { name: 'express-rate-limit' });
    this.localKeys = options.store.source === 'memory';
    this.prefix = `${this.#limiter.name}:`;
  }

  init({ windowMs }: Options): void {
    this.windowMs = windowMs;
  }

  async get(key: string): Promise<ClientRateLimitInfo | undefined> {
    const decision = await this.#limiter.decide('peek', [this.#hit(key)]);
    return decision.used > 0 ? makeInfo(decision) : undefined;
  }

  async increment(key: string): Promise<ClientRateLimitInfo> {
    return makeInfo(await this.#limiter.decide('take', [this.#hit(key)]));
  }

  async decrement(key: string): Promise<void> {
    await settleKeys(this.#limiter, 'give', [this.#hit(key)]);
  }

  async resetKey(key: string): Promise<void> {
    await this.#limiter.edit('reset', this.#hit(key));
  }

  /** Leaves the Sluice store, and closes it if nothing else uses it. */
  async shutdown(): Promise<void> {
    await this.#limiter.close();
  }

  #hit(key: string): Want {
    return this.#limiter.hit(key, this.windowMs);
  }
}

/** By this process's clock, which header fields use: the store's may differ. */
function makeInfo({ used, resetAfterMs }: Decision): ClientRateLimitInfo {
  return { totalHits: used, resetTime: new Date(Date.now() + resetAfterMs) };
}
