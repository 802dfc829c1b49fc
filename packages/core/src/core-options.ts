import { PolicyError, shown } from './errors.ts';
import { parseEscalation, type Escalation } from './escalate.ts';
import type { OnUnconfigured } from './managed/managed-limit.ts';
import { parseApp } from './managed/managed.ts';
import { isPolicies } from './managed/followed.ts';
import type { Policies } from './managed/policies.ts';
import { parseName } from './name.ts';
import { parseDenialCache, type DenialCacheOptions, type DenialCacheSettings } from './denial-cache-options.ts';
import { memoryStore } from './stores/memory/memory-store.ts';
import { checkTimeout } from './stores/deadline.ts';
import { checkLease, parseLease, type LeaseOptions, type LeaseSettings } from './stores/lease/lease-options.ts';
import type { Store } from './stores/store.ts';

/**
 * What decides when the store does not: a memory store of this process, nobody (the request passes or is refused), or
 * an error.
 */
export type OnStoreError = 'local' | 'allow' | 'deny' | 'throw';

/** The options of a limiter that say where and how it decides, whatever it decides over. */
export interface LimiterCoreOptions {
  /** Stands in keys and header fields. A letter, then up to 63 letters, digits, `.`, `-` or `_`. Default `default`. */
  name?: string | undefined;
  /** Says that other limiters of this name on this store mean the same budgets. Default false. */
  shared?: boolean | undefined;
  /** Default: a memory store of its own. */
  store?: Store | undefined;
  /**
   * What decides when the store fails or is late. Default `local`: a memory limiter of this process, with the same
   * policies.
   */
  onStoreError?: OnStoreError | undefined;
  /**
   * The share of each limit that `local` admits in this process, above 0 and at most 1: `1 / processes` keeps the limit
   * over all of them. Rounded down, at least one unit. Default 1.
   */
  localShare?: number | undefined;
  /**
   * The longest a decision may wait for the store, in milliseconds; where this process itself was held up meanwhile, up to
   * 40 more. Default 100.
   */
  timeoutMs?: number | undefined;
  /**
   * Whether this process refuses by itself what its store would refuse, going by what earlier refusals have shown: no call
   * is made then. Default true where the store is not this process's memory. Other processes that give back, reset or
   * unblock are heard of after `maxAge`.
   */
  denialCache?: boolean | DenialCacheOptions | undefined;
  /**
   * Whether this process takes slices of keys that are asked for often, and spends them from memory: for keys whose traffic
   * is more than one Redis can decide. Default false. All processes of a limiter say the same. Of use on a `redisStore` alone;
   * a memory store has nothing to fetch, and decides as before.
   */
  lease?: boolean | LeaseOptions | undefined;
  /** What repeated refusals lead to: `escalate({ after: 5, block: '1m', decay: '1h' })`. Default: nothing. */
  escalate?: Escalation | undefined;
  /** Which application this is, on the lists of managed policies. Needed where a policy is `managed(...)`. */
  app?: string | undefined;
  /**
   * What becomes of a request whose managed policy is not there, or not for this application. Default `deny` (403). `allow`
   * leaves the limit out.
   */
  onUnconfigured?: OnUnconfigured | undefined;
  /** Where managed policies are looked up: what `createPolicies(source)` answered. Default: the Redis of `store`. */
  policies?: Policies | undefined;
}

export const CORE_OPTIONS = [
  'name',
  'shared',
  'store',
  'onStoreError',
  'localShare',
  'timeoutMs',
  'denialCache',
  'lease',
  'escalate',
  'app',
  'onUnconfigured',
  'policies',
] as const;

const ON_UNCONFIGURED: readonly OnUnconfigured[] = ['deny', 'allow'];
const ON_STORE_ERROR: readonly OnStoreError[] = ['local', 'allow', 'deny', 'throw'];

/** The options with their defaults, checked. */
export interface CoreSettings {
  readonly name: string;
  readonly shared: boolean;
  readonly store: Store;
  readonly onStoreError: OnStoreError;
  readonly localShare: number;
  readonly timeoutMs: number;
  /** Undefined where nothing is kept. */
  readonly denialCache: DenialCacheSettings | undefined;
  readonly lease: LeaseSettings | undefined;
  readonly escalation: Escalation | undefined;
  readonly app: string | undefined;
  readonly onUnconfigured: OnUnconfigured;
  readonly policies: Policies | undefined;
}

/** @throws PolicyError for a bad option, `SLUICE_OPTION_INVALID`. */
export function parseCoreOptions(options: LimiterCoreOptions): CoreSettings {
  const {
    name = 'default',
    shared = false,
    store = memoryStore(),
    onStoreError = 'local',
    localShare = 1,
    timeoutMs = 100,
    onUnconfigured = 'deny',
  } = options;
  const check = (is: boolean, field: string, expected: string, got: unknown): void => {
    if (!is) throw new PolicyError(field, `${field} must be ${expected}, got ${shown(got)}`, 'SLUICE_OPTION_INVALID');
  };
  const checkedName = parseName(name, 'name');
  check(typeof shared === 'boolean', 'shared', 'true or false', shared);
  check(
    typeof (store as Partial<Store> | null)?.perform === 'function',
    'store',
    typeof store === 'string' ? 'memoryStore() or redisStore(url)' : 'memoryStore() or redisStore(client)',
    store,
  );
  check(ON_STORE_ERROR.includes(onStoreError), 'onStoreError', '"local", "allow", "deny" or "throw"', onStoreError);
  checkTimeout(timeoutMs);
  check(ON_UNCONFIGURED.includes(onUnconfigured), 'onUnconfigured', '"deny" or "allow"', onUnconfigured);
  check(
    options.policies === undefined || isPolicies(options.policies),
    'policies',
    'what createPolicies() answered',
    options.policies,
  );
  const app = options.app === undefined ? undefined : parseApp(options.app, 'app');
  check(
    typeof localShare === 'number' && localShare > 0 && localShare <= 1,
    'localShare',
    'a number above 0 and at most 1, such as 0.25 for one of four processes',
    localShare,
  );
  check(
    options.localShare === undefined || onStoreError === 'local',
    'localShare',
    'left out where onStoreError is not "local"',
    localShare,
  );
  const { policies } = options;
  const escalation = options.escalate === undefined ? undefined : parseEscalation(options.escalate);
  const lease = parseLease(options.lease);
  if (lease !== undefined) checkLease(store, escalation);
  return {
    ...{ name: checkedName, shared, store, onStoreError, localShare, timeoutMs, escalation },
    ...{ app, onUnconfigured, policies, denialCache: parseDenialCache(options.denialCache), lease },
  };
}
