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
 * What happens if the store fails or is late: `local` counts in the memory of this process, by the same policies;
 * `allow` and `deny` do not count; `throw` rejects.
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

/** The options of a limiter: where and how it decides. */
export const LIMITER = {
  /**
   * Part of keys and header fields. Unique per store, ignoring case. A letter, then up to 63 letters, digits, `.`, `-`
   * or `_`. Default `default`.
   */
  name: withDefault(parseName, 'default') as WithDefault<string>,
  /** Allows other limiters with this name on this store, which then share its counts. Default `false`. */
  shared: withDefault(flag, false) as WithDefault<boolean>,
  /**
   * Where to count: `memoryStore()`, `redisStore(client or URL, { prefix })`, or a store of your own. Default: a
   * separate memory store.
   */
  store: optional(readStore) as Optional<Store>,
  /**
   * What happens if the store fails or is late. By default, this process counts in memory by the same policies. See
   * docs/guides/when-redis-fails.md. Default `local`.
   */
  onStoreError: withDefault(oneOf(['local', 'allow', 'deny', 'throw']), 'local') as WithDefault<OnStoreError>,
  /**
   * How long a decision may wait for the store, in milliseconds; up to 40 ms longer if this process itself was stalled.
   * Default `100`.
   */
  timeoutMs: withDefault(timerMs, 100) as WithDefault<number>,
  /**
   * What happens if the managed policy does not exist, or does not list this application: `deny` returns 403, `allow`
   * skips the limit. Default `deny`.
   */
  onUnconfigured: withDefault(oneOf(['deny', 'allow']), 'deny') as WithDefault<OnUnconfigured>,
  /** The source of managed policies: the result of `createPolicies(source)`. Default: the Redis of `store`. */
  policies: optional(
    valueThat((given) => typeof given === 'object' && given !== null, 'the result of createPolicies()'),
  ) as Optional<object>,
  /** The name of this application, as listed in the `apps` of managed policies. 1 to 128 characters. Default: none. */
  app: optional(
    valueThat(
      (given) => typeof given === 'string' && given !== '' && given.length <= MAX_APP,
      `the name of an application, 1 to ${String(MAX_APP)} characters`,
    ),
  ) as Optional<string>,
  /**
   * The share of each limit that `local` allows in this process, above 0 and at most 1. With `1 / processes`, all
   * processes together keep the limit. Rounded down, but at least one unit. Default `1`.
   */
  localShare: withDefault(
    valueThat(
      (given) => typeof given === 'number' && given > 0 && given <= 1,
      'a number above 0 and at most 1, such as 0.25 for one of four processes',
    ),
    1,
  ) as WithDefault<number>,
  /**
   * Whether this process repeats a denial of its store for at most a second without asking again. Refunds, resets and
   * unblocks by other processes may take effect that much later. No effect with a `memoryStore`. Default `true`.
   */
  denialCache: withDefault(flag, true) as WithDefault<boolean>,
  /**
   * Calls a function when a key has used these shares of a limit, to warn a customer in time:
   * `{ at: [0.5, 0.8], call: ({ key, level }) => ... }`. Called once per key, policy, level and window in each process,
   * for up to 10 000 keys. Default: none.
   */
  onThreshold: optional(optionsOf(THRESHOLDS)) as Optional<ThresholdOptions>,
};

export interface LimiterCoreOptions extends Options<typeof LIMITER> {}
