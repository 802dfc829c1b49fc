import type { Store } from '../stores/store.ts';
import { parseName } from '../values/name.ts';
import {
  flag,
  invalid,
  oneOf,
  optional,
  optionsOf,
  timerMs,
  valueThat,
  withDefault,
  type Optional,
  type Options,
  type Reader,
  type WithDefault,
} from '../values/shape.ts';
import { THRESHOLDS, type ThresholdOptions } from './thresholds.ts';

/**
 * What decides if the store fails or is late: `local`, the memory of this process with the same policies; `allow` and
 * `deny`, nothing; `throw` rejects.
 */
export type OnStoreError = 'local' | 'allow' | 'deny' | 'throw';

/** What happens to a request whose policy does not exist, or does not list this application. */
export type OnUnconfigured = 'allow' | 'deny';

export const MAX_APP = 128;

const readStore: Reader<Store> = (given, field, code) => {
  if (typeof (given as Partial<Store> | null)?.perform === 'function') return given as Store;
  const argument = typeof given === 'string' ? 'url' : 'client';
  throw invalid(field, `memoryStore() or redisStore(${argument}, { prefix: 'shop' })`, given, code);
};

/** The options of a limiter on where and how it decides. */
export const LIMITER = {
  /**
   * Part of keys and header fields; unique per store, whatever the case. A letter, then up to 63 letters, digits, `.`,
   * `-` or `_`. Default `default`.
   */
  name: withDefault(parseName, 'default') as WithDefault<string>,
  /** Allows other limiters of this name on this store, which then share its budgets. Default `false`. */
  shared: withDefault(flag, false) as WithDefault<boolean>,
  /**
   * Where it is counted: `memoryStore()`, `redisStore(client or URL, { prefix })`, or a store of your own. Default: a
   * memory store of its own.
   */
  store: optional(readStore) as Optional<Store>,
  /**
   * What decides if the store fails or is late. By default the memory of this process, with the same policies. See
   * docs/guides/when-redis-fails.md. Default `local`.
   */
  onStoreError: withDefault(oneOf(['local', 'allow', 'deny', 'throw']), 'local') as WithDefault<OnStoreError>,
  /**
   * The longest a decision may wait for the store, in milliseconds; up to 40 more after a stall of this process
   * itself. Default `100`.
   */
  timeoutMs: withDefault(timerMs, 100) as WithDefault<number>,
  /**
   * For a request whose managed policy does not exist, or not for this application: `deny` responds 403, `allow` skips
   * the limit. Default `deny`.
   */
  onUnconfigured: withDefault(oneOf(['deny', 'allow']), 'deny') as WithDefault<OnUnconfigured>,
  /** The source of managed policies: what `createPolicies(source)` returned. Default: the Redis of `store`. */
  policies: optional(
    valueThat((given) => typeof given === 'object' && given !== null, 'the result of createPolicies()'),
  ) as Optional<object>,
  /** The name of this application on the lists of managed policies. 1 to 128 characters. Default: none. */
  app: optional(
    valueThat(
      (given) => typeof given === 'string' && given !== '' && given.length <= MAX_APP,
      `the name of an application, 1 to ${String(MAX_APP)} characters`,
    ),
  ) as Optional<string>,
  /**
   * The share of each limit that `local` allows in this process, above 0 and at most 1: `1 / processes` keeps the limit
   * over all of them. Rounded down, at least one unit. Default `1`.
   */
  localShare: optional(
    valueThat(
      (given) => typeof given === 'number' && given > 0 && given <= 1,
      'a number above 0 and at most 1, such as 0.25 for one of four processes',
    ),
  ) as Optional<number>,
  /**
   * Whether this process denies by itself, for at most a second, what its store has just denied. Refunds, resets and
   * unblocks of other processes take effect here that much later. No effect with a `memoryStore`. Default `true`.
   */
  denialCache: withDefault(flag, true) as WithDefault<boolean>,
  /**
   * Calls with a key that has used these shares of a limit, to warn a customer in time:
   * `{ at: [0.5, 0.8], call: ({ key, level }) => ... }`. Once for each key, policy, level and window, in each process;
   * for 10 000 keys. Default: none.
   */
  onThreshold: optional(optionsOf(THRESHOLDS)) as Optional<ThresholdOptions>,
};

export interface LimiterCoreOptions extends Options<typeof LIMITER> {}
