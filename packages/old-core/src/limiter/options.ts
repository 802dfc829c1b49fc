import type { OnStoreError } from '../engine/fast.ts';
import type { OnUnconfigured } from '../engine/limit-source.ts';
import { DENIAL_AGE_MS, type Store } from '../engine/store.ts';
import { isRegistry, type LimitRegistry } from './limit-reference.ts';
import { isThresholds, type ThresholdOptions } from './thresholds.ts';
import { memoryStore } from '../stores/memory/memory-store.ts';
import { invalidOption } from '../values/check-options.ts';
import type { Duration } from '../values/duration.ts';
import { parseEscalation, type Escalation } from '../values/escalate.ts';
import { parseName } from '../values/name.ts';
import {
  duration,
  flag,
  oneOf,
  optional,
  readInner,
  readValues,
  timerMs,
  valueThat,
  wholeNumber,
  type OptionTable,
  type SettingsOf,
} from '../values/option.ts';

/** The options of a limiter on where and how it decides, for every kind of limit. */
export interface LimiterCoreOptions {
  /**
   * Part of keys and header fields; unique per store, whatever the case. A letter, then up to 63 letters, digits, `.`,
   * `-` or `_`. Default `default`.
   */
  name?: string | undefined;
  /** Allows other limiters of this name on this store, which then share its budgets. Default `false`. */
  shared?: boolean | undefined;
  /**
   * Where it is counted: `memoryStore()`, `redisStore(client or URL, { prefix })`, or yours: see
   * docs/guides/creating-a-store.md. Default: a memory store of its own.
   */
  store?: Store | undefined;
  /**
   * The replacement for a store that fails or is late. By default
   * a memory limiter of this process, with the same policies. See docs/guides/when-redis-fails.md. Default `local`.
   */
  onStoreError?: OnStoreError | undefined;
  /**
   * The share of each limit that `local` allows in this process, above 0 and at most 1: `1 / processes` keeps the limit
   * over all of them. Rounded down, at least one unit. Default `1`.
   */
  localShare?: number | undefined;
  /**
   * The longest a decision may wait for the store, in milliseconds; up to 40 more after a stall of this process
   * itself. Default `100`.
   */
  timeoutMs?: number | undefined;
  /**
   * Whether this process denies by itself what its store would deny, from what earlier denials have shown, without
   * a call. Refunds, resets and unblocks of other processes take effect here after `maxAge`. No effect with a
   * `memoryStore`. See docs/guides/fast-paths.md. Default `true`.
   */
  denialCache?: boolean | DenialCacheOptions | undefined;
  /**
   * The consequence of repeated denials: `escalate({ after: 5, block: '1m', decay: '1h' })`. See
   * docs/guides/escalation.md.
   */
  escalate?: Escalation | undefined;
  /**
   * Calls with a key that has used these shares of a limit, to warn a customer in time:
   * `{ at: [0.5, 0.8], call: ({ key, level }) => ... }`. Once for each key, policy, level and window, in each process;
   * for 10 000 keys. See docs/guides/monitoring.md. Default: none.
   */
  onThreshold?: ThresholdOptions | undefined;
  /**
   * The name of this application on the lists of managed policies. Needed where a policy is `managed(...)`, of
   * `@sluice/core/managed`: see docs/guides/managed-policies.md.
   */
  app?: string | undefined;
  /**
   * For a request whose managed policy does not exist, or not for this application: `deny` responds 403, `allow` skips
   * the limit. Default `deny`.
   */
  onUnconfigured?: OnUnconfigured | undefined;
  /** The source of managed policies: what `createPolicies(source)` returned. Default: the Redis of `store`. */
  policies?: LimitRegistry | undefined;
}

/** How long and how many denied keys a limiter remembers, to deny them without a call to its store. */
export interface DenialCacheOptions {
  /**
   * How long at most this process goes on denying a key for which another process has made room: by a refund, a reset,
   * the end of a block, another policy. Default `'1s'`.
   */
  maxAge?: Duration | undefined;
  /** Keys remembered at most, the most recently requested ones. Some 300 bytes each. Default 10 000. */
  maxKeys?: number | undefined;
}

/** The options with their defaults, checked. */
export type CoreSettings = SettingsOf<
  LimiterCoreOptions,
  Pick<LimiterCoreOptions, 'app' | 'policies' | 'escalate' | 'onThreshold'> & {
    /**
     * Undefined where nothing is kept. The age goes with each limit, because limits of several limiters meet in one
     * request.
     */
    readonly denialCache: { readonly ageMs: number; readonly maxKeys: number } | undefined;
  }
>;

/** Names of applications are compared exactly, and kept with every policy that lists them. */
export const LONGEST_APP = 128;

/** Every option, its default, and what it has to be: {@link LimiterCoreOptions} says what each means. */
const OPTIONS: OptionTable<CoreSettings> = {
  name: (given = 'default', name) => parseName(given, name),
  shared: flag(false),
  store: parseStore,
  onStoreError: oneOf(['local', 'allow', 'deny', 'throw']),
  timeoutMs: timerMs(100),
  onUnconfigured: oneOf(['deny', 'allow']),
  policies: optional(valueThat<LimitRegistry>(isRegistry, 'the result of createPolicies()')),
  app: optional(valueThat(isApp, `the name of an application, 1 to ${String(LONGEST_APP)} characters`)),
  localShare: valueThat(
    (given) => typeof given === 'number' && given > 0 && given <= 1,
    'a number above 0 and at most 1, such as 0.25 for one of four processes',
    1,
  ),
  escalate: optional(parseEscalation),
  onThreshold: optional(
    valueThat(
      isThresholds,
      'an object such as { at: [0.5, 0.8], call: (event) => ... }, its levels above 0 and at most 1',
    ),
  ),
  denialCache: parseDenialCache,
};

export const CORE_OPTIONS: readonly (keyof LimiterCoreOptions)[] = Object.keys(OPTIONS) as (keyof CoreSettings)[];

/** @throws PolicyError for a bad option, `SLUICE_OPTION_INVALID`. */
export function parseCoreOptions(options: LimiterCoreOptions): CoreSettings {
  const settings = readValues(options, OPTIONS);
  const { onStoreError, localShare } = settings;
  if (options.localShare !== undefined) {
    checked(localShare, onStoreError === 'local', 'localShare', 'left out where onStoreError is not "local"');
  }
  return settings;
}

function checked(given: unknown, is: boolean, field: string, expected: string): unknown {
  if (is) return given;
  throw invalidOption(field, expected, given);
}

function parseStore(given: unknown = memoryStore()): Store {
  const isStore = typeof (given as Partial<Store> | null)?.perform === 'function';
  const expected =
    typeof given === 'string'
      ? "memoryStore() or redisStore(url, { prefix: 'shop' })"
      : "memoryStore() or redisStore(client, { prefix: 'shop' })";
  return checked(given, isStore, 'store', expected) as Store;
}

const DENIAL_CACHE: OptionTable<{ maxAge: number; maxKeys: number }> = {
  maxAge: duration(DENIAL_AGE_MS),
  maxKeys: wholeNumber(1, Infinity, 'a whole number, at least 1', 10_000),
};

function parseDenialCache(given: unknown = true, name: string): CoreSettings['denialCache'] {
  if (given === false) return undefined;
  const isOptions = typeof given === 'object' && given !== null;
  checked(given, given === true || isOptions, name, 'true, false or { maxAge, maxKeys }');
  const { maxAge: ageMs, maxKeys } = readInner(given === true ? {} : given, DENIAL_CACHE, name);
  return { ageMs, maxKeys };
}

function isApp(given: unknown): given is string {
  return typeof given === 'string' && given !== '' && given.length <= LONGEST_APP;
}
