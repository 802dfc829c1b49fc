import {
  PolicyError,
  SluiceError,
  type IoredisClient,
  type NodeRedisClient,
  type Policy,
  type RedisClient,
  type Store,
} from '@sluice/old-core';
import {
  connectionOf,
  connectTo,
  KEEPS_LIMITS,
  namePolicy,
  parseName,
  readOptions,
  type LimitRef,
  type LimitRegistry,
  type RedisConnection,
} from '@sluice/old-core/spi';
import type { Definitions } from '@sluice/old-core/inspect';
import { definitionsOf } from './definitions.ts';
import { samePolicy, unnamed, type PolicyDefinition } from './read-record.ts';
import { ManagedSource } from './managed-source.ts';
import { PolicyCache } from './policy-cache.ts';
import { sharedCacheOf, shareCache } from './shared-caches.ts';
import { makeRecord, makeTombstone } from './make-record.ts';
import { CREATE_POLICIES, PUT, REMOVE, type CreatePoliciesOptions, type PutOptions } from './options.ts';
import type { PolicyRecord, PolicySource } from './policy-source.ts';
import { RedisPolicySource } from './redis-source.ts';
import { OverrideEdits, type OverrideResult, type PolicyOverride } from './edit-overrides.ts';
import type { OverrideRecord } from './overrides/override-record.ts';
import {
  AUDIT,
  LIST_OVERRIDES,
  OVERRIDE,
  type AuditOptions,
  type ListOverridesOptions,
  type OverrideOptions,
} from './overrides/options.ts';
import { parseTarget, type OverrideTarget, type Target } from './overrides/target.ts';
import { MOST_ATTEMPTS, tooBusy } from './too-busy.ts';

/** A policy as `get` and `list` return it. */
export interface ManagedPolicy {
  readonly name: string;
  readonly policy: Policy;
  /** The applications that may use it. */
  readonly apps: readonly string[];
  /** Grows with every change of the policy. */
  readonly version: number;
  /** Milliseconds since 1970, by the clock of the process that changed it last. */
  readonly changedAtMs: number;
}

/** The result of `put`. */
export interface PutResult extends ManagedPolicy {
  readonly change: 'created' | 'changed' | 'unchanged';
}

/** The policies of a source. Every call here reads the source. Limiters use a copy in memory. */
export interface Policies extends LimitRegistry {
  /**
   * Keeps a policy under a name. It takes effect in every process within a second. An equal policy changes nothing;
   * different `apps` alone leave all states as they are. Takes two round trips, and two more after each concurrent
   * change.
   *
   * @throws (rejects) PolicyError naming the field; StoreError; SluiceError `SLUICE_POLICIES_READ_ONLY`.
   */
  put(name: string, policy: Policy, options: PutOptions): Promise<PutResult>;
  /** Returns a policy, or undefined if it does not exist, was removed, or cannot be read by this release. */
  get(name: string): Promise<ManagedPolicy | undefined>;
  /** Returns all policies that this release can read, sorted by name. */
  list(): Promise<readonly ManagedPolicy[]>;
  /**
   * Removes a policy: decisions by it have the outcome `unconfigured`. A tombstone stays, which distinguishes a
   * removal from a loss. Returns whether the policy existed.
   *
   * @param options - `state`: true forgets what clients have used, in case the policy is put again. Default false:
   * units that still count then are carried over.
   */
  remove(name: string, options?: { readonly state?: boolean }): Promise<boolean>;
  /**
   * Gives one key, or every key that begins with a prefix, another policy of the same kind. A whole key goes before any
   * prefix, and a longer prefix before a shorter one. It is in force in every process within a second, and takes no
   * further round trip; what a key has used stays used. Takes three round trips, and as many more after each concurrent
   * change.
   *
   * @param target - The key as the limiter is given it, or `{ prefix }`.
   * @throws (rejects) PolicyError naming the field, also if there is no such policy, or it is of another kind;
   * StoreError; SluiceError `SLUICE_POLICIES_READ_ONLY`.
   *
   * @example
   * ```ts
   * await policies.override('orders', 'customer-7', fixedWindow({ limit: 500, window: '1s' }), {
   *   until: new Date('2027-01-01'),
   *   by: 'ann',
   *   reason: 'sale, ticket 812',
   * });
   * ```
   */
  override(name: string, target: OverrideTarget, policy: Policy, options?: OverrideOptions): Promise<OverrideResult>;
  /** Returns the overrides of a policy, each with who changed it, when and why. Reads the source. */
  overrides(name: string, options?: ListOverridesOptions): Promise<readonly PolicyOverride[]>;
  /**
   * Removes an override: its keys have the numbers of the policy again, or of a shorter prefix. Who did it, when and why
   * stays in the source. Returns whether there was one.
   */
  removeOverride(name: string, target: OverrideTarget, options?: AuditOptions): Promise<boolean>;
  /**
   * Returns what the policies and overrides are at present, for `inspectKey` of `@sluice/core/inspect`.
   * Reads the source.
   */
  definitions(): Promise<Definitions>;
  /**
   * Closes what was opened for the source, unless a limiter still uses it. (A store that was passed in is closed by
   * its limiters, or by its own `close`.) Later calls open the source again.
   */
  close(): Promise<void>;
}

/**
 * Reads and changes the policies that a source keeps under names, for limiters with `policy: managed(name)`.
 *
 * @param source - Redis, as `redisStore(...)` or as a client or URL that `redisStore` accepts; or a {@link
 * PolicySource}.
 * @throws PolicyError for an invalid source, a client or URL without a prefix, and bad or unknown options. Nothing is sent
 * before the first call.
 *
 * @example
 * ```ts
 * const store = redisStore(redis, { prefix: 'shop' });
 * const policies = createPolicies(store);
 * await policies.put('orders', fixedWindow({ limit: 100, window: '1s' }), { apps: ['checkout'] });
 * const limiter = createLimiter({ policy: managed('orders'), app: 'checkout', store });
 * ```
 */
export function createPolicies(source: Store | PolicySource, options?: CreatePoliciesOptions): Policies;
export function createPolicies(
  client: RedisClient | IoredisClient | NodeRedisClient | string,
  options: CreatePoliciesOptions & { readonly prefix: string },
): Policies;
export function createPolicies(
  source: Store | PolicySource | RedisClient | IoredisClient | NodeRedisClient | string,
  options: CreatePoliciesOptions = {},
): Policies {
  const policies = policiesIn(source, readOptions(options, CREATE_POLICIES, 'createPolicies'));
  shareCache(policies, policies.policyCache);
  return policies;
}

/** A managed policy in its source, and the overrides of single subjects: keys, as limits and stores have them. */
export interface SourcePolicy {
  readonly name: string;
  /** Those of the source. They are closed with the limiters that use them. */
  readonly policies: Policies;
  /** The override of this subject itself, if one is in force. Reads the source. */
  overrideOf(subject: string): Promise<PolicyOverride | undefined>;
  /** As {@link Policies.override}. */
  override(subject: string, policy: Policy, options?: OverrideOptions): Promise<OverrideResult>;
  /** As {@link Policies.removeOverride}. */
  removeOverride(subject: string, options?: AuditOptions): Promise<boolean>;
}

/**
 * The managed policy of a limit, for tools that change its numbers. Undefined for a limit whose numbers are in code. A
 * change is in force at once in this process.
 */
export function sourceOf(limit: LimitRef): SourcePolicy | undefined {
  return limit instanceof ManagedSource ? new PoliciesImpl(limit.feed).sourcePolicy(limit.policyName) : undefined;
}

function policiesIn(given: unknown, options: CreatePoliciesOptions): PoliciesImpl {
  const { load, perform } = (given ?? {}) as Partial<PolicySource & Store>;
  if (typeof load !== 'function' && typeof perform !== 'function') {
    return policiesInRedis(connectTo(given, { prefix: options.prefix }, 'createPolicies'));
  }
  if (options.prefix !== undefined) {
    throw new PolicyError(
      'prefix',
      'prefix is only for a client or URL: a store has its own prefix, and another source needs none',
      'SLUICE_OPTION_INVALID',
    );
  }
  if (typeof load === 'function') return new PoliciesImpl(new PolicyCache(given as PolicySource));
  const connection = connectionOf(given as Store);
  if (connection !== undefined) return policiesInRedis(connection);
  const got =
    (given as Store).source === 'remote'
      ? 'one that counts elsewhere: a remoteStore keeps no policies'
      : 'another store';
  throw new PolicyError(
    'source',
    `createPolicies takes redisStore(...), a client or URL of Redis, or a source with load(), got ${got}`,
    'SLUICE_OPTION_INVALID',
  );
}

function policiesInRedis(connection: RedisConnection): PoliciesImpl {
  return new PoliciesImpl(new PolicyCache(new RedisPolicySource(connection)), () => sharedCacheOf(connection));
}

class PoliciesImpl implements Policies {
  // Not a field: a bundler keeps every class whose fields have names that are computed.
  declare readonly [KEEPS_LIMITS]: true;
  readonly policyCache: PolicyCache;
  readonly #sharedCache: () => PolicyCache | undefined;
  readonly #overrides: OverrideEdits;

  /** @param sharedCache - The cache that limiters of this process use. It is refreshed at once after a change. */
  constructor(policyCache: PolicyCache, sharedCache: () => PolicyCache | undefined = () => undefined) {
    this[KEEPS_LIMITS] = true;
    this.policyCache = policyCache;
    this.#sharedCache = sharedCache;
    this.#overrides = new OverrideEdits(policyCache, (...written) => this.#write(...written));
  }

  async put(name: string, policy: Policy, options: PutOptions): Promise<PutResult> {
    const { apps: appsAfter, carryOver, dryRun } = readOptions(options, PUT, 'put');
    const named = namePolicy(policy, parseName(name, 'name'));
    const rule = unnamed(named.policy); // the name in the source counts
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.policyCache.load();
      const { record: before, definition } = this.#current(name);
      const apps = appsAfter(this.#managed(name)[0]?.apps ?? []);
      const isSame = definition?.state === 'usable' && samePolicy(definition.named, named);
      if (this.policyCache.isCurrentInSource(name) && isSame && sameApps(definition.record.apps, apps)) {
        return { ...managedPolicy(name, definition), change: 'unchanged' };
      }
      const { overrides } = this.policyCache;
      const after = overrides.of(name)?.latestVersionAt(overrides.clock.nowMs()) ?? 0;
      const record = makeRecord(rule, { apps, carryOver, isSame, after }, definition);
      const change = definition?.state === 'usable' && before !== undefined ? 'changed' : 'created';
      const { version, changedAtMs } = record;
      const result = { name, policy: rule, apps, version, changedAtMs, change } as const;
      if (dryRun || (await this.#write('put', name, record, before))) return result;
    }
    throw tooBusy(`the policy ${name}`);
  }

  async get(name: string): Promise<ManagedPolicy | undefined> {
    parseName(name, 'name');
    await this.policyCache.load();
    return this.#managed(name)[0];
  }

  async list(): Promise<readonly ManagedPolicy[]> {
    await this.policyCache.load();
    return this.policyCache.names.flatMap((name) => this.#managed(name));
  }

  async remove(name: string, options: { readonly state?: boolean } = {}): Promise<boolean> {
    const { state } = readOptions(options, REMOVE, 'remove');
    parseName(name, 'name');
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.policyCache.load();
      const { record: before, definition } = this.#current(name);
      if (before === undefined || definition === undefined) return false;
      if (definition.state === 'removed' && this.policyCache.isCurrentInSource(name)) return false;
      const tombstone = makeTombstone(definition, state ? 'reset' : 'keep');
      if (await this.#write('remove', name, tombstone, before)) return true;
    }
    throw tooBusy(`the policy ${name}`);
  }

  async override(
    name: string,
    target: OverrideTarget,
    policy: Policy,
    options: OverrideOptions = {},
  ): Promise<OverrideResult> {
    const settings = readOptions(options, OVERRIDE, 'override');
    return this.#overrides.put(parseName(name, 'name'), parseTarget(target), policy, settings);
  }

  async overrides(name: string, options: ListOverridesOptions = {}): Promise<readonly PolicyOverride[]> {
    return this.#overrides.list(parseName(name, 'name'), readOptions(options, LIST_OVERRIDES, 'overrides'));
  }

  async removeOverride(name: string, target: OverrideTarget, options: AuditOptions = {}): Promise<boolean> {
    const audit = readOptions(options, AUDIT, 'removeOverride');
    return this.#overrides.remove(parseName(name, 'name'), parseTarget(target), audit);
  }

  async definitions(): Promise<Definitions> {
    await this.policyCache.load();
    const records = new Map(this.policyCache.records);
    for await (const [name, record] of this.#overrides.records()) records.set(name, record);
    return definitionsOf(Object.fromEntries(records), this.policyCache.overrides.clock.nowMs());
  }

  async close(): Promise<void> {
    await this.policyCache.close();
  }

  sourcePolicy(name: string): SourcePolicy {
    const targetOf = (subject: string): Target => ({ kind: 'key', text: subject });
    return {
      name,
      policies: this,
      overrideOf: async (subject) => this.#overrides.get(name, targetOf(subject)),
      override: async (subject, policy, options = {}) =>
        this.#overrides.put(name, targetOf(subject), policy, readOptions(options, OVERRIDE, 'override')),
      removeOverride: async (subject, options = {}) =>
        this.#overrides.remove(name, targetOf(subject), readOptions(options, AUDIT, 'removeOverride')),
    };
  }

  #current(name: string): { readonly record: unknown; readonly definition: PolicyDefinition | undefined } {
    return { record: this.policyCache.recordOf(name), definition: this.policyCache.get(name) };
  }

  /** The policy of a name as a list of one, or an empty list if the source has none that this release can read. */
  #managed(name: string): readonly ManagedPolicy[] {
    const { record, definition } = this.#current(name);
    return record !== undefined && definition?.state === 'usable' ? [managedPolicy(name, definition)] : [];
  }

  async #write(
    how: 'put' | 'remove',
    name: string,
    record: PolicyRecord | OverrideRecord,
    before: unknown,
  ): Promise<boolean> {
    const { source } = this.policyCache;
    const write = source[how]?.bind(source);
    if (write === undefined) {
      throw new SluiceError(
        'SLUICE_POLICIES_READ_ONLY',
        `the source of policies has no ${how}(): change ${name} where it is kept`,
      );
    }
    const isWritten = await write(name, record, before);
    if (isWritten) await Promise.all([this.policyCache.load(), this.#sharedCache()?.refresh()]);
    return isWritten;
  }
}

function managedPolicy(
  name: string,
  { record, named, version }: Extract<PolicyDefinition, { state: 'usable' }>,
): ManagedPolicy {
  return { name, policy: named.policy as Policy, apps: record.apps, version, changedAtMs: record.changedAtMs };
}

function sameApps(before: readonly string[], apps: readonly string[]): boolean {
  return JSON.stringify(before) === JSON.stringify(apps);
}
