import {
  PolicyError,
  StoreError,
  fixedWindow,
  type Duration,
  type LimiterCoreOptions,
  type Policy,
  type Store,
} from '@sluice/core';
import { LimiterCore, editKeys, readOptions, readSubject, shown, type Limit, type Want } from '@sluice/core/spi';

/** What the stores for all peers take. */
export interface PeerStoreOptions {
  /** Where hits are counted: `redisStore(...)`, or any other store of Sluice. */
  readonly store: Store;
  /**
   * Part of keys, and in metrics. Stores of one name on one store share their counts. Default: `express-rate-limit`,
   * `fastify-rate-limit` or `throttler`.
   */
  readonly name?: string;
  /** While the store fails: the error of the peer, or counts in this process's memory. Default `'throw'`. */
  readonly onStoreError?: 'throw' | 'local';
  /** The longest a hit waits for the store, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

const asGiven = (given: unknown): unknown => given;
const PEER = { store: asGiven, name: asGiven, onStoreError: asGiven, timeoutMs: asGiven };

/**
 * Checks what a store for a peer is made of, as far as it differs from a limiter's options.
 *
 * @param where - The function that takes it.
 * @throws PolicyError naming the field.
 */
export function checkPeerOptions(options: unknown, where: string, isStoreNeeded = true): void {
  const { store, onStoreError } = readOptions(options, PEER, where);
  if (store === undefined && isStoreNeeded) {
    const example = `${where}({ store: redisStore(url, { prefix: "shop" }) })`;
    throw new PolicyError('store', `${where} needs a store; write ${example}`, 'SLUICE_OPTION_INVALID');
  }
  if (onStoreError === undefined || onStoreError === 'throw' || onStoreError === 'local') return;
  const message = `onStoreError of ${where} must be "throw" or "local", got ${shown(onStoreError)}`;
  throw new PolicyError('onStoreError', message, 'SLUICE_OPTION_INVALID');
}

/** The largest limit of a policy. */
const MAX_LIMIT = 999_999_999_999_999;
/** The longest window of a policy: 100 years. */
export const MAX_WINDOW_MS: number = 36_500 * 86_400_000;
/** Policies are made once. A limit that is a function has a value for each plan, and seldom more than this. */
const MAX_POLICIES = 256;

/** A limiter whose policies come with each call, as peers pass their numbers. */
export class CallLimiter extends LimiterCore {
  readonly #limits = new Map<string, Limit>();

  /** @throws PolicyError for an invalid name or option. */
  constructor(options: LimiterCoreOptions) {
    super({ denialCache: false, ...options, shared: true });
    this.claim();
  }

  /**
   * What a call wants of a key.
   *
   * @param key - Any value: JavaScript users of the peers pass a user's id that is a number, or undefined.
   * @param numbers - Of the policy, which is made once for them.
   */
  want(key: unknown, numbers: readonly unknown[], makePolicy: () => Policy): Want {
    const id = numbers.join();
    let limit = this.#limits.get(id);
    if (limit === undefined) {
      if (this.#limits.size === MAX_POLICIES) this.#limits.clear();
      limit = this.limitFor(makePolicy());
      this.#limits.set(id, limit);
    }
    const text = String(key) || ' ';
    return { limit, key: text, subject: readSubject(text), cost: 1, holder: 0, isNamed: false };
  }

  /**
   * A hit in a window that begins at the first one, and allows all: the peers compare `used` of the decision with their
   * limit themselves.
   */
  hit(key: unknown, windowMs: number): Want {
    const ms = wholeMs(windowMs);
    return this.want(key, [ms], () => fixedWindow({ limit: MAX_LIMIT, window: writeMs(ms) }));
  }

  /** @param blockMs - With `block`: for how long. The key starts afresh after it. */
  async edit(op: 'reset' | 'block', want: Want, blockMs = 0): Promise<void> {
    try {
      await editKeys(this, op, [want], { until: blockMs, isRoutine: true });
    } catch (error) {
      // The memory that decides meanwhile has the edit.
      if (this.onStoreError !== 'local' || !(error instanceof StoreError)) throw error;
    }
  }
}

/** Milliseconds as a policy takes them: peers take any number. */
export function wholeMs(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms) || 1, 1), MAX_WINDOW_MS);
}

/** Milliseconds as text: a policy warns of a number below 1000, which may be meant as seconds. */
export function writeMs(ms: number): Duration {
  return `${String(ms) as `${number}`}ms`;
}

/** A limit as a policy takes it: peers allow as many hits as the next whole number below. */
export function wholeLimit(limit: number): number {
  return Math.min(Math.max(Math.floor(limit) || 0, 0), MAX_LIMIT);
}

export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
