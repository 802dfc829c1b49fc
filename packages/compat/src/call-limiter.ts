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

/** The options of the stores for all peers. */
export interface PeerStoreOptions {
  /** Where hits are counted: `redisStore(...)`, or any other Sluice store. */
  readonly store: Store;
  /**
   * Part of keys, and a label of metrics. Stores with one name on one Sluice store share their counts. Default:
   * `express-rate-limit`, `fastify-rate-limit` or `throttler`.
   */
  readonly name?: string;
  /** While the store fails: throw the peer's error, or count in this process's memory. Default `'throw'`. */
  readonly onStoreError?: 'throw' | 'local';
  /** How long a hit may wait for the store, in milliseconds. Default 100. */
  readonly timeoutMs?: number;
}

const asGiven = (given: unknown): unknown => given;
const PEER = { store: asGiven, name: asGiven, onStoreError: asGiven, timeoutMs: asGiven };

/**
 * The limiter of a store for a peer.
 *
 * @param options - {@link PeerStoreOptions}, unchecked.
 * @param where - The function that takes them, for errors.
 * @param defaults - The name and, if the option may be left out, the store.
 * @throws PolicyError naming the field.
 */
export function makePeerLimiter(
  options: object,
  where: string,
  defaults: { readonly name: string; readonly store?: Store },
): CallLimiter {
  const given = readOptions(options, PEER, where) as Partial<PeerStoreOptions>;
  const { onStoreError = 'throw', store = defaults.store, name = defaults.name } = given;
  if (store === undefined) {
    const example = `${where}({ store: redisStore(url, { prefix: "shop" }) })`;
    throw new PolicyError('store', `${where} needs a store; write ${example}`, 'SLUICE_OPTION_INVALID');
  }
  if (!['throw', 'local'].includes(onStoreError)) {
    const message = `onStoreError of ${where} must be "throw" or "local", got ${shown(onStoreError)}`;
    throw new PolicyError('onStoreError', message, 'SLUICE_OPTION_INVALID');
  }
  return new CallLimiter({ ...given, onStoreError, store, name });
}

/** The largest limit of a policy. */
const MAX_LIMIT = 999_999_999_999_999;
/** The longest window of a policy: 100 years. */
export const MAX_WINDOW_MS: number = 36_500 * 86_400_000;
/** Policies are created once. A limit that is a function has a value for each plan, rarely more than this. */
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
   * Makes the want of a call for a key.
   *
   * @param key - Any value: JavaScript users of the peers pass a user's id that is a number, or undefined.
   * @param numbers - The policy's numbers; each set creates one policy.
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
   * A hit in a window that starts at the first hit and allows everything: the peers compare the decision's `used` with
   * their limit themselves.
   */
  hit(key: unknown, windowMs: number): Want {
    const ms = roundMs(windowMs);
    return this.want(key, [ms], () => fixedWindow({ limit: MAX_LIMIT, window: writeMs(ms) }));
  }

  /** @param blockMs - With `block`: how long. The key starts afresh after that. */
  async edit(op: 'reset' | 'block', want: Want, blockMs = 0): Promise<void> {
    try {
      await editKeys(this, op, [want], { until: blockMs, isRoutine: true });
    } catch (error) {
      // The fallback memory already has the edit.
      if (this.onStoreError !== 'local' || !(error instanceof StoreError)) throw error;
    }
  }
}

/** Milliseconds as a policy accepts them: peers accept any number. */
export function roundMs(ms: number): number {
  return Math.min(Math.max(Math.ceil(ms) || 1, 1), MAX_WINDOW_MS);
}

/** Milliseconds as text, because a policy warns about a number below 1000, which may be meant as seconds. */
export function writeMs(ms: number): Duration {
  return `${String(ms) as `${number}`}ms`;
}

/** A limit as a policy accepts it: peers allow as many hits as the next lower whole number. */
export function roundLimit(limit: number): number {
  return Math.min(Math.max(Math.floor(limit) || 0, 0), MAX_LIMIT);
}

export function wholeSeconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
