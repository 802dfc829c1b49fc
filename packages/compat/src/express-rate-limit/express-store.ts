import type { Decision } from '@sluice/core';
import { settleKeys, type Want } from '@sluice/core/spi';
import type { ClientRateLimitInfo, Options, Store } from './options.ts';
import { CallLimiter, checkPeerOptions, type PeerStoreOptions } from '../call-limiter.ts';

/**
 * A store for express-rate-limit, on a store of Sluice: each hit is one atomic call, by the clock of that store. Give
 * each limiter a name of its own.
 *
 * @throws PolicyError for an invalid name or option.
 */
export class ExpressStore implements Store {
  readonly localKeys: boolean;
  /** Before each key, so that limiters of other names are told apart. */
  readonly prefix: string;
  /** The length of a window, in milliseconds. Set by `init`. */
  windowMs = 60_000;
  readonly #limiter: CallLimiter;

  constructor(options: PeerStoreOptions) {
    checkPeerOptions(options, 'new ExpressStore');
    const { store, name = 'express-rate-limit' } = options;
    this.localKeys = store.source === 'memory';
    this.prefix = `${name}:`;
    this.#limiter = new CallLimiter({ onStoreError: 'throw', ...options, name });
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

  /** Leaves the store of Sluice, and closes it if nothing else uses it. */
  async shutdown(): Promise<void> {
    await this.#limiter.close();
  }

  #hit(key: string): Want {
    return this.#limiter.hit(key, this.windowMs);
  }
}

/** By the clock of this process, which header fields are made with: the store's own may differ. */
function makeInfo({ used, resetAfterMs }: Decision): ClientRateLimitInfo {
  return { totalHits: used, resetTime: new Date(Date.now() + resetAfterMs) };
}
