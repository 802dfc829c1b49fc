import { PolicyError } from '../errors.ts';
import { bringsFast, type OnStoreError } from '../engine/fast.ts';
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
   * Where it is counted: `memoryStore()`, `redisStore(client or URL)`, or yours: see docs/guides/creating-a-store.md.
   * Default: a memory store of its own.
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
   * Whether this process takes slices of frequently requested keys, and spends them from memory: for keys with more
   * traffic than one Redis can decide. All processes of a limiter need the same setting. Has an
   * effect on a `redisStore` or `remoteStore` alone; a memory store has nothing to fetch, and decides as before. See
   * docs/guides/fast-paths.md. Default `false`.
   */
  lease?: boolean | LeaseOptions | undefined;
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
   * `@sluice/managed`: see docs/guides/managed-policies.md.
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

export interface LeaseOptions {
  /**
   * The maximum age of a slice: what is not spent by then is given back, or lost. From 20 ms to 500 ms; default
   * `500ms`. A token bucket holds less, by what it refills in that time.
   */
  maxAge?: Duration;
}

/** The options with their defaults, checked. */
export type CoreSettings = SettingsOf<
  LimiterCoreOptions,
  Pick<LimiterCoreOptions, 'app' | 'policies' | 'escalate' | 'onThreshold'> & {
    readonly lease: { readonly maxAgeMs: number } | undefined;
    /**
     * Undefined where nothing is kept. The age goes with each limit, because limits of several limiters meet in one
     * request.
     */
    readonly denialCache: { readonly ageMs: number; readonly maxKeys: number } | undefined;
  }
>;

const LEAST_LEASE_MS = 20;
/** Changes by another process (block, reset) take effect no later than that. */
const LONGEST_LEASE_MS = 500;
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
  lease: parseLease,
  denialCache: parseDenialCache,
};

export const CORE_OPTIONS: readonly (keyof LimiterCoreOptions)[] = Object.keys(OPTIONS) as (keyof CoreSettings)[];

/** @throws PolicyError for a bad option, `SLUICE_OPTION_INVALID`. */
export function parseCoreOptions(options: LimiterCoreOptions): CoreSettings {
  const settings = readValues(options, OPTIONS);
  const { onStoreError, localShare, lease } = settings;
  if (options.localShare !== undefined) {
    checked(localShare, onStoreError === 'local', 'localShare', 'left out where onStoreError is not "local"');
  }
  if (lease !== undefined) checkLeasable(settings);
  return settings;
}

function checked(given: unknown, is: boolean, field: string, expected: string): unknown {
  if (is) return given;
  throw invalidOption(field, expected, given);
}

function parseStore(given: unknown = memoryStore()): Store {
  const isStore = typeof (given as Partial<Store> | null)?.perform === 'function';
  const expected =
    typeof given === 'string' ? 'memoryStore() or redisStore(url)' : 'memoryStore() or redisStore(client)';
  return checked(given, isStore, 'store', expected) as Store;
}

const DENIAL_CACHE: OptionTable<{ maxAge: number; maxKeys: number }> = {
  maxAge: duration(DENIAL_AGE_MS),
  maxKeys: wholeNumber(1, Infinity, 'a whole number, at least 1', 10_000),
};

function parseDenialCache(given: unknown = true, name: string): CoreSettings['denialCache'] {
  if (given === false) return undefined;
  const { maxAge: ageMs, maxKeys } = innerOf(given, DENIAL_CACHE, name, 'true, false or { maxAge, maxKeys }');
  return { ageMs, maxKeys };
}

const LEASE: OptionTable<{ maxAge: number }> = {
  maxAge: (given, name) => {
    const ageMs = duration(LONGEST_LEASE_MS)(given, name);
    const expected = `from ${String(LEAST_LEASE_MS)} to ${String(LONGEST_LEASE_MS)} ms`;
    checked(given, ageMs >= LEAST_LEASE_MS && ageMs <= LONGEST_LEASE_MS, name, expected);
    return ageMs;
  },
};

function parseLease(given: unknown = false, name: string): CoreSettings['lease'] {
  if (given === false) return undefined;
  const { maxAge } = innerOf(given, LEASE, name, 'true, false or an object such as { maxAge: "500ms" }');
  return { maxAgeMs: maxAge };
}

/** Options of an option that is also true, which means all defaults. */
function innerOf<Settings extends object>(
  given: unknown,
  table: OptionTable<Settings>,
  name: string,
  expected: string,
): Settings {
  checked(given, given === true || (typeof given === 'object' && given !== null), name, expected);
  return readInner(given === true ? {} : given, table, name);
}

/** @throws PolicyError for a store or another option that rules leases out. */
function checkLeasable({ store, escalate }: CoreSettings): void {
  const rejection = (message: string): PolicyError => new PolicyError('lease', message, 'SLUICE_OPTION_INVALID');
  if (escalate !== undefined) {
    throw rejection(
      'no slices can be taken beside escalate, which counts every denial in the store: leave one of the two out',
    );
  }
  if (store.source === 'split') {
    throw rejection('a split limit is decided in this process as it is, and cannot be leased: leave lease out');
  }
  if (store.source !== 'memory' && !bringsFast(store)) {
    throw rejection(
      'slices are taken from a redisStore or a remoteStore in batches, and this store cannot give any: leave lease out',
    );
  }
}

function isApp(given: unknown): given is string {
  return typeof given === 'string' && given !== '' && given.length <= LONGEST_APP;
}
