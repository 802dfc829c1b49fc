import type { PolicyBase } from '../algorithms/algorithm.ts';
import { PolicyError, SluiceError, StoreError, shown } from '../errors.ts';
import { parseName } from '../name.ts';
import { checkOptions } from '../options.ts';
import { namePolicy, type Policy } from '../policy.ts';
import type { CarryOver, Store } from '../stores/store.ts';
import type { IoredisClient, NodeRedisClient, RedisClient } from '../stores/redis/client.ts';
import { connectTo, connectionOf, type RedisConnection } from '../stores/redis/connection.ts';
import { isCarryOver, samePolicy, type Definition } from './definition.ts';
import { Definitions } from './definitions.ts';
import { followedThrough, noteDefinitions } from './followed.ts';
import { parseApp } from './managed.ts';
import { recordOf, tombstoneOf } from './next-record.ts';
import type { PolicyRecord, PolicySource } from './policy-source.ts';
import { RedisPolicySource } from './redis-source.ts';

/** A policy as `get` and `list` show it. */
export interface ManagedPolicy {
  readonly name: string;
  readonly policy: Policy;
  /** The applications that may use it. */
  readonly apps: readonly string[];
  /** Grows with every change of the policy. */
  readonly version: number;
  /** Milliseconds since 1970, by the clock of who changed it last. */
  readonly changedAtMs: number;
}

export interface PutOptions {
  /** The applications that may use the policy, compared exactly. An empty list: none. */
  readonly apps: readonly string[];
  /**
   * What becomes of the units that clients have used when the policy changes. `keep` (default): they stay used;
   * `proportional`: as much of the new limit is used as was of the old one, rounded up; `reset`: everybody begins anew, so
   * that within one window both limits may be admitted.
   */
  readonly carryOver?: CarryOver | undefined;
  /** Only says what would change. Default false. */
  readonly dryRun?: boolean | undefined;
}

/** What `put` has done. */
export interface PutResult extends ManagedPolicy {
  readonly change: 'created' | 'changed' | 'unchanged';
}

/** The policies of a source. Everything here asks the source; limiters have what they need at hand. */
export interface Policies {
  /**
   * Keeps a policy under a name, from now on in force in every process within a second. The same again changes nothing;
   * other `apps` alone leave all states as they are. Two round trips, and again where somebody else was faster.
   *
   * @throws (rejects) PolicyError naming the field; StoreError; SluiceError `SLUICE_POLICIES_READ_ONLY`.
   */
  put(name: string, policy: Policy, options: PutOptions): Promise<PutResult>;
  /** A policy, or undefined when there is none, when it was removed, or when this release cannot read it. */
  get(name: string): Promise<ManagedPolicy | undefined>;
  /** All policies that this release can read, by name. */
  list(): Promise<readonly ManagedPolicy[]>;
  /**
   * Removes a policy: its limiters answer `unconfigured`. A tombstone stays, which tells a removal from a loss. Answers
   * whether there was one.
   *
   * @param options - `state`: what clients have used is forgotten, should the policy be put again. Default false: it is
   * carried over, if it is still of consequence then.
   */
  remove(name: string, options?: { readonly state?: boolean }): Promise<boolean>;
  /**
   * Ends what was opened for the source, unless a limiter still follows it. (A store that was handed in is closed by its
   * limiters, or by itself.) Calls after that open it again.
   */
  close(): Promise<void>;
}

const MOST_ATTEMPTS = 20;

/**
 * The policies that are kept in a source under names, for limiters with `policy: managed(name)`.
 *
 * @param source - A Redis: as `redisStore(...)`, or as a client or URL that it takes; or a {@link PolicySource}.
 * @param options - `prefix`, for a client or URL: as that of the stores whose limiters use the policies. Default `sluice`.
 * @throws PolicyError for what is no source, and for bad or unknown options. Nothing is sent before the first call.
 *
 * @example
 * ```ts
 * const policies = createPolicies(redis);
 * await policies.put('orders', fixedWindow({ limit: 100, window: '1s' }), { apps: ['checkout'] });
 * const limiter = createLimiter({ policy: managed('orders'), app: 'checkout', store: redisStore(redis) });
 * ```
 */
export function createPolicies(
  source: Store | PolicySource | RedisClient | IoredisClient | NodeRedisClient | string,
  options: { prefix?: string | undefined } = {},
): Policies {
  checkOptions(options, ['prefix'], 'createPolicies');
  const policies = keptIn(source, options);
  noteDefinitions(policies, policies.definitions);
  return policies;
}

function keptIn(given: unknown, options: { prefix?: string | undefined }): KeptPolicies {
  const { load, perform } = (given ?? {}) as Partial<PolicySource & Store>;
  if (typeof load !== 'function' && typeof perform !== 'function') {
    return keptInRedis(connectTo(given, options, 'createPolicies'));
  }
  if (options.prefix !== undefined) {
    throw new PolicyError(
      'prefix',
      'prefix goes with a client or URL: a store has its own, and another source needs none',
      'SLUICE_OPTION_INVALID',
    );
  }
  if (typeof load === 'function') return new KeptPolicies(new Definitions(given as PolicySource));
  const connection = connectionOf(given as Store);
  if (connection !== undefined) return keptInRedis(connection);
  throw new PolicyError(
    'source',
    `createPolicies takes redisStore(...), a client or URL of Redis, or a source with load(), got a store that is not in Redis`,
    'SLUICE_OPTION_INVALID',
  );
}

function keptInRedis(connection: RedisConnection): KeptPolicies {
  return new KeptPolicies(new Definitions(new RedisPolicySource(connection)), () => followedThrough(connection));
}

class KeptPolicies implements Policies {
  readonly definitions: Definitions;
  readonly #followed: () => Definitions | undefined;

  /** @param followed - What limiters of this process look in, to be told of a change at once. */
  constructor(definitions: Definitions, followed: () => Definitions | undefined = () => undefined) {
    this.definitions = definitions;
    this.#followed = followed;
  }

  async put(name: string, policy: Policy, options: PutOptions): Promise<PutResult> {
    const { apps, carryOver, dryRun } = parsePut(options);
    const named = namePolicy(policy, parseName(name, 'name'));
    const rule = unnamed(named.policy); // it is called as it is kept
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.definitions.load();
      const { record: before, definition } = this.#current(name);
      const isSame = definition?.state === 'usable' && samePolicy(definition.named, named);
      if (this.definitions.isKept(name) && isSame && sameApps(definition.record.apps, apps)) {
        return { ...managedPolicy(name, definition), change: 'unchanged' };
      }
      const record = recordOf(rule, { apps, carryOver, isSame }, definition);
      const change = definition?.state === 'usable' && before !== undefined ? 'changed' : 'created';
      const { version, changedAtMs } = record;
      const result = { name, policy: rule, apps, version, changedAtMs, change } as const;
      if (dryRun || (await this.#write('put', name, record, before))) return result;
    }
    throw tooBusy(name);
  }

  async get(name: string): Promise<ManagedPolicy | undefined> {
    parseName(name, 'name');
    await this.definitions.load();
    return this.#managed(name)[0];
  }

  async list(): Promise<readonly ManagedPolicy[]> {
    await this.definitions.load();
    return this.definitions.names.flatMap((name) => this.#managed(name));
  }

  async remove(name: string, options: { readonly state?: boolean } = {}): Promise<boolean> {
    checkOptions(options, ['state'], 'remove');
    parseName(name, 'name');
    for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      await this.definitions.load();
      const { record: before, definition } = this.#current(name);
      if (before === undefined || definition === undefined) return false;
      if (definition.state === 'removed' && this.definitions.isKept(name)) return false;
      const tombstone = tombstoneOf(definition, options.state === true ? 'reset' : 'keep');
      if (await this.#write('remove', name, tombstone, before)) return true;
    }
    throw tooBusy(name);
  }

  async close(): Promise<void> {
    await this.definitions.close();
  }

  #current(name: string): { readonly record: unknown; readonly definition: Definition | undefined } {
    return { record: this.definitions.recordOf(name), definition: this.definitions.get(name) };
  }

  /** The policy of a name, where the source has one that this release can read. */
  #managed(name: string): readonly ManagedPolicy[] {
    const { record, definition } = this.#current(name);
    return record !== undefined && definition?.state === 'usable' ? [managedPolicy(name, definition)] : [];
  }

  async #write(how: 'put' | 'remove', name: string, record: PolicyRecord, before: unknown): Promise<boolean> {
    const { source } = this.definitions;
    const write = source[how]?.bind(source);
    if (write === undefined) {
      throw new SluiceError(
        'SLUICE_POLICIES_READ_ONLY',
        `this source of policies has no ${how}(): change ${name} where it is kept`,
      );
    }
    const isWritten = await write(name, record, before);
    if (isWritten) await Promise.all([this.definitions.load(), this.#followed()?.refresh()]);
    return isWritten;
  }
}

function unnamed(policy: PolicyBase): Policy {
  return Object.fromEntries(Object.entries(policy).filter(([field]) => field !== 'name')) as unknown as Policy;
}

function managedPolicy(
  name: string,
  { record, named, version }: Extract<Definition, { state: 'usable' }>,
): ManagedPolicy {
  return { name, policy: named.policy as Policy, apps: record.apps, version, changedAtMs: record.changedAtMs };
}

function sameApps(before: readonly string[], apps: readonly string[]): boolean {
  return JSON.stringify(before) === JSON.stringify(apps);
}

function parsePut(options: PutOptions): { apps: readonly string[]; carryOver: CarryOver; dryRun: boolean } {
  checkOptions(options, ['apps', 'carryOver', 'dryRun'], 'put');
  const { apps, carryOver = 'keep', dryRun = false } = options;
  if (!Array.isArray(apps)) {
    throw new PolicyError(
      'apps',
      `apps must be a list of the applications that may use the policy, such as ["checkout"], got ${shown(apps)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (!isCarryOver(carryOver)) {
    throw new PolicyError(
      'carryOver',
      `carryOver must be "keep", "proportional" or "reset", got ${shown(carryOver)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (typeof dryRun !== 'boolean') {
    throw new PolicyError('dryRun', `dryRun must be true or false, got ${shown(dryRun)}`, 'SLUICE_OPTION_INVALID');
  }
  // In one order, so that the same applications are the same list.
  return { apps: [...new Set(apps.map((app, i) => parseApp(app, `apps[${String(i)}]`)))].sort(), carryOver, dryRun };
}

function tooBusy(name: string): StoreError {
  return new StoreError(
    'SLUICE_STORE_FAILED',
    `the policy ${name} was not changed: others changed it at the same time, ${String(MOST_ATTEMPTS)} times in a row`,
  );
}
