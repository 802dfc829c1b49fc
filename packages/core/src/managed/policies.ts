import { PolicyError, shown, StoreError } from '../errors.ts';
import type { ChangeEvent } from '../events/event.ts';
import { compile, describePolicy, parsePolicy, isSamePolicy, type Policy } from '../policies/index.ts';
import { findConnection } from '../stores/redis/connection.ts';
import type { Store } from '../stores/store.ts';
import { parseName } from '../values/name.ts';
import { invalid, readOptions } from '../values/shape.ts';
import { Follower } from './follower.ts';
import {
  CHANGE,
  OVERRIDE_OPTIONS,
  PUT_OPTIONS,
  type ChangeOptions,
  type OverrideOptions,
  type PutOptions,
} from './options.ts';
import { EMPTY, unnamed, type Draft, type Held, type PolicyRecord } from './record.ts';
import { RedisFeed, type RedisSource } from './redis-source.ts';
import { OwnFeed, type PolicySource } from './source.ts';
import { parseTarget, writeRecordName, writeTarget, type OverrideTarget, type Target } from './target.ts';

/** The last change of a policy or an override. */
export interface PolicyChange {
  /** Milliseconds since 1970, by the Redis server's clock. */
  readonly changedAtMs: number;
  readonly by: string | null;
  readonly reason: string | null;
}

/** A policy as `get` and `list` return it. */
export interface ManagedPolicy extends PolicyChange {
  readonly name: string;
  readonly policy: Policy;
  /** The applications that may use it. Null: all of them. */
  readonly apps: readonly string[] | null;
}

/** The result of `put`. */
export interface PutResult extends ManagedPolicy {
  readonly change: 'created' | 'changed' | 'unchanged';
  /** Whether counts start again: after a change of kind, or with `reset`. Otherwise used units stay used. */
  readonly startsAfresh: boolean;
  /** The overrides that the put removed because the policy changed its kind. */
  readonly removedOverrides: readonly OverrideTarget[];
}

/** An override as `overrides` returns it. */
export interface PolicyOverride extends PolicyChange {
  /** The policy that it overrides. */
  readonly name: string;
  /** The key that it applies to (a long one as `#` and its hash), or a prefix of keys. */
  readonly target: OverrideTarget;
  readonly policy: Policy;
  /** When it ends, in milliseconds since 1970 by the clock of the source. Null if it does not end. */
  readonly untilMs: number | null;
}

/** The result of `override`. */
export interface OverrideResult extends PolicyOverride {
  readonly change: 'created' | 'changed' | 'unchanged';
  /** The policy that applied to the target until now. */
  readonly before: Policy;
}

/** The policies of a source. Every call reads recent changes; limiters use a copy in memory. */
export interface Policies {
  /**
   * Stores a policy under a name. It takes effect in every process within a second. The same numbers for the same
   * applications change nothing. Takes two round trips, and two more after each concurrent change.
   *
   * @throws (rejects) PolicyError naming the field; StoreError; SluiceError `SLUICE_POLICIES_READ_ONLY`.
   */
  put(name: string, policy: Policy, options?: PutOptions): Promise<PutResult>;
  /** Returns a policy, or undefined if it does not exist, was removed, or cannot be used by this release. */
  get(name: string): Promise<ManagedPolicy | undefined>;
  /** Returns all policies that this release can use, sorted by name. */
  list(): Promise<readonly ManagedPolicy[]>;
  /**
   * Removes a policy and its overrides. Limiters that use it get the outcome `unconfigured`. If it is put again, used
   * units stay used. Returns whether it existed.
   */
  remove(name: string, options?: ChangeOptions): Promise<boolean>;
  /**
   * Gives one key, or all keys with a prefix, another policy of the same kind. A whole key takes precedence over a
   * prefix, and a longer prefix over a shorter one. It takes effect in every process within a second, and adds no round
   * trip to decisions; used units stay used.
   *
   * @param target - The key as it is passed to the limiter, or `{ prefix }`.
   * @throws (rejects) PolicyError naming the field, also if there is no such policy or it is of another kind;
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
  /** Returns the overrides of a policy that are in force: first those of keys, then those of prefixes. */
  overrides(name: string): Promise<readonly PolicyOverride[]>;
  /**
   * Removes an override. Returns whether it was in force.
   *
   * @param target - As it was passed to `override`, or as {@link Policies.overrides} lists it: a long key as its hash.
   */
  removeOverride(name: string, target: OverrideTarget, options?: ChangeOptions): Promise<boolean>;
  /**
   * Closes what was opened for the source, unless a limiter still uses it. A client that was passed in stays open.
   * Later calls open the source again.
   */
  close(): Promise<void>;
}

/** How often a put is retried after losing to a concurrent one. */
const MAX_ATTEMPTS = 20;

/** The followers of the policies in the Redis of stores. */
const followers = new WeakMap<Store, Follower>();

/**
 * Reads and changes the named policies of a source, for limiters with `policy: managed(name)`.
 *
 * @param source - A `redisStore(...)`, whose connection and prefix are used; a `redisSource(client, { prefix })`; or an
 * object of your own: see {@link PolicySource}.
 * @throws PolicyError for anything else. Nothing is sent before the first call.
 *
 * @example
 * ```ts
 * const store = redisStore(redis, { prefix: 'shop' });
 * const policies = createPolicies(store);
 * await policies.put('orders', fixedWindow({ limit: 100, window: '1s' }), { apps: ['checkout'] });
 * const limiter = createLimiter({ policy: managed('orders'), app: 'checkout', store });
 * ```
 */
export function createPolicies(source: Store | RedisSource | PolicySource): Policies {
  return new SourcePolicies(makeFollower(source));
}

function makeFollower(source: Store | RedisSource | PolicySource): Follower {
  if (source instanceof RedisFeed) return new Follower(source);
  if (typeof (source as Partial<PolicySource> | undefined)?.load === 'function') {
    return new Follower(new OwnFeed(source as PolicySource));
  }
  const follower = findStoreFollower(source as Store);
  if (follower !== undefined) return follower;
  const expected = 'redisStore(...), redisSource(client, { prefix: "shop" }) or an object with load()';
  throw new PolicyError('source', `createPolicies takes ${expected}, got ${shown(source)}`, 'SLUICE_OPTION_INVALID');
}

/** The follower of the policies in a store's Redis, one for each store. Undefined for a store elsewhere. */
function findStoreFollower(store: Store): Follower | undefined {
  const known = followers.get(store);
  const connection = known === undefined ? findConnection(store) : undefined;
  if (connection === undefined) return known;
  const follower = new Follower(new RedisFeed(connection));
  followers.set(store, follower);
  return follower;
}

/**
 * The follower that a limiter uses.
 *
 * @throws PolicyError if the limiter has neither `policies` nor a Redis store.
 */
export function findFollower(policies: unknown, store: Store): Follower {
  if (policies instanceof SourcePolicies) return policies.follower;
  if (policies !== undefined) throw invalid('policies', 'what createPolicies(source) returns', policies);
  const follower = findStoreFollower(store);
  if (follower !== undefined) return follower;
  const help = 'pass policies: createPolicies(source), or use store: redisStore(...)';
  const text = `managed policies are kept in the Redis of the limiter's store, but this store is not in Redis: ${help}`;
  throw new PolicyError('policies', text, 'SLUICE_OPTION_INVALID');
}

/** A planned change, based on the current records. Without a draft, nothing changes. */
type Plan<Result> = {
  /** The result, given the record that is then valid. */
  readonly result: (record: PolicyRecord) => Result;
} & (
  | { readonly draft?: undefined; readonly event?: undefined }
  | {
      readonly draft: Draft | undefined;
      /** What the timeline records, apart from `by` and `reason`. */
      readonly event: Pick<ChangeEvent, 'what' | 'limit' | 'key' | 'before' | 'after'>;
    }
);

class SourcePolicies implements Policies {
  readonly follower: Follower;

  constructor(follower: Follower) {
    this.follower = follower;
  }

  async put(name: string, policy: Policy, options: PutOptions = {}): Promise<PutResult> {
    const { apps: changeApps, reset, by, reason } = readOptions(options, PUT_OPTIONS, 'put');
    const rule = unnamed(parsePolicy(policy, 'policy'));
    return this.#change<PutResult>(parseName(name, 'name'), (held) => {
      const { record, policy: before } = held ?? NOTHING;
      this.#checkCase(name);
      const apps = changeApps?.(record.apps ?? []) ?? record.apps;
      const isSameKind = before !== undefined && compile(before).kind === compile(rule).kind;
      const startsAfresh = before !== undefined && (reset || !isSameKind);
      const isEqual = isSameKind && isSamePolicy(before, rule) && JSON.stringify(apps) === JSON.stringify(record.apps);
      const isUnchanged = isEqual && !reset && held?.problem === undefined;
      const change = before === undefined ? 'created' : isUnchanged ? 'unchanged' : 'changed';
      const removed = before === undefined || isSameKind ? [] : this.follower.copy.overrides(name);
      const removedOverrides = removed.map(([target]) => writeTarget(target));
      const life = isSameKind ? record.life : record.life + 1;
      const resets = (record.resets ?? 0) + (reset ? 1 : 0);
      return {
        draft: isUnchanged ? undefined : { policy: rule, apps, life, resets, by, reason },
        event: {
          ...{ what: 'put', limit: name, key: null, before: describe(before, record.apps) },
          after: `${String(describe(rule, apps))}${startsAfresh ? ', all clients start again' : ''}`,
        },
        result: (now) => ({ ...show(name, rule, now), change, startsAfresh, removedOverrides }),
      };
    });
  }

  async get(name: string): Promise<ManagedPolicy | undefined> {
    parseName(name, 'name');
    await this.follower.load();
    return this.#show(name)[0];
  }

  async list(): Promise<readonly ManagedPolicy[]> {
    await this.follower.load();
    return this.follower.copy.names().flatMap((name) => this.#show(name));
  }

  async remove(name: string, options: ChangeOptions = {}): Promise<boolean> {
    const { by, reason } = readOptions(options, CHANGE, 'remove');
    return this.#change(parseName(name, 'name'), (held) => {
      if (held?.policy === undefined && held?.problem === undefined) return { result: () => false };
      const { life, resets } = held.record;
      const before = describe(held.policy, held.record.apps);
      return {
        draft: { life, resets, by, reason },
        event: { what: 'remove', limit: name, key: null, before, after: null },
        result: () => true,
      };
    });
  }

  async override(
    name: string,
    target: OverrideTarget,
    policy: Policy,
    options: OverrideOptions = {},
  ): Promise<OverrideResult> {
    const { until: untilMs, by, reason } = readOptions(options, OVERRIDE_OPTIONS, 'override');
    const rule = unnamed(parsePolicy(policy, 'policy'));
    const parsed = parseTarget(target);
    return this.#change(writeRecordName(parseName(name, 'name'), parsed), () => {
      const { policy: base, record } = this.#base(name);
      checkKind(name, base, rule);
      this.#checkUntil(untilMs);
      const { copy } = this.follower;
      const before =
        (typeof target === 'string' ? copy.find(name, target) : copy.findByPrefix(name, target.prefix)) ?? base;
      const old = copy.override(name, parsed);
      const isEqual =
        old !== undefined &&
        old.problem === undefined &&
        isSamePolicy(old.policy, rule) &&
        old.record.untilMs === untilMs;
      const change = old === undefined ? 'created' : isEqual ? 'unchanged' : 'changed';
      return {
        draft: isEqual ? undefined : { policy: rule, life: record.life, untilMs, by, reason },
        event: {
          ...{ what: 'override', limit: name, key: describeTarget(parsed), before: describePolicy(before) },
          after: `${describePolicy(rule)}${untilMs === undefined ? '' : ` until ${new Date(untilMs).toISOString()}`}`,
        },
        result: (now) => ({ ...showOverride(name, parsed, rule, now), change, before }),
      };
    });
  }

  async overrides(name: string): Promise<readonly PolicyOverride[]> {
    parseName(name, 'name');
    await this.follower.load();
    const found = this.follower.copy.overrides(name);
    return found.map(([target, { policy, record }]) => showOverride(name, target, policy, record));
  }

  async removeOverride(name: string, target: OverrideTarget, options: ChangeOptions = {}): Promise<boolean> {
    const { by, reason } = readOptions(options, CHANGE, 'removeOverride');
    const parsed = parseTarget(target);
    return this.#change(writeRecordName(parseName(name, 'name'), parsed), (held) => {
      const wasInForce = this.follower.copy.override(name, parsed) !== undefined;
      if (!wasInForce && held?.problem === undefined) return { result: () => false };
      const [before, after] = [describe(held?.policy), describe(this.follower.copy.get(name)?.policy)];
      return {
        draft: { life: held?.record.life ?? 0, by, reason },
        event: { what: 'removeOverride', limit: name, key: describeTarget(parsed), before, after },
        result: () => wasInForce,
      };
    });
  }

  async close(): Promise<void> {
    await this.follower.close();
  }

  /**
   * Reads the source, plans the change and writes it. Repeats that if another process has changed the record meanwhile.
   */
  async #change<Result>(recordName: string, plan: (held: Held | undefined) => Plan<Result>): Promise<Result> {
    const { follower } = this;
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      if (attempt > 1) follower.readFromStart(); // the record may have been written by hand, which leaves no revision
      await follower.load();
      const held = follower.copy.get(recordName);
      const { draft, event, result } = plan(held);
      if (draft === undefined) return result(held?.record ?? EMPTY);
      const { by = null, reason = null } = draft;
      const record = await follower.put(recordName, draft, held, { ...event, endAtMs: null, by, reason });
      if (record !== undefined) return result(record);
    }
    const why = `because of ${String(MAX_ATTEMPTS)} concurrent changes in a row`;
    throw new StoreError('SLUICE_STORE_FAILED', `${recordName} was not changed, ${why}`);
  }

  /** The policy of a name as a list of one; none if it cannot be used. */
  #show(name: string): readonly ManagedPolicy[] {
    const { policy, record } = this.follower.copy.get(name) ?? NOTHING;
    return policy === undefined ? [] : [show(name, policy, record)];
  }

  #base(name: string): { readonly policy: Policy; readonly record: PolicyRecord } {
    const { policy, record, problem } = this.follower.copy.get(name) ?? NOTHING;
    if (policy !== undefined) return { policy, record };
    const why = problem ?? 'it does not exist, or was removed';
    throw new PolicyError('name', `an override needs the managed policy ${shown(name)} (${why}): put it first`);
  }

  /** Names are unique regardless of case, like those of limiters. */
  #checkCase(name: string): void {
    const same = this.follower.copy.names().find((other) => other.toLowerCase() === name.toLowerCase());
    if (same === undefined || same === name || this.follower.copy.get(same)?.policy === undefined) return;
    const got = `got ${shown(name)}; nothing was changed`;
    throw new PolicyError(
      'name',
      `name must differ from ${shown(same)} by more than case, ${got}: put ${shown(same)}, or remove it first`,
    );
  }

  #checkUntil(untilMs: number | undefined): void {
    const nowMs = this.follower.nowMs();
    if (untilMs === undefined || untilMs > nowMs) return;
    throw invalid('until', `later than now, ${new Date(nowMs).toISOString()} by the clock of the source`, untilMs);
  }
}

const NOTHING: Held = { record: EMPTY, policy: undefined };

/** Such as `fixedWindow 100 per 1m for checkout, web`. Null if there is none. */
function describe(policy: Policy | undefined, apps?: readonly string[]): string | null {
  if (policy === undefined) return null;
  const listed = apps === undefined ? '' : ` for ${apps.join(', ') || 'no application'}`;
  return describePolicy(policy) + listed;
}

/** As the timeline shows it: a prefix ends with a star. */
function describeTarget({ kind, text }: Target): string {
  return kind === 'key' ? text : `${text}*`;
}

function checkKind(name: string, base: Policy, rule: Policy): void {
  if (compile(base).kind === compile(rule).kind) return;
  const why = 'an override can change the numbers, but not the kind';
  const text = `policy must be a ${base.algorithm}, as ${name} is (${why}), got a ${rule.algorithm}`;
  throw new PolicyError('policy', text);
}

function show(name: string, policy: Policy, record: PolicyRecord): ManagedPolicy {
  return { name, policy, apps: record.apps ?? null, ...showChange(record) };
}

function showOverride(name: string, target: Target, policy: Policy, record: PolicyRecord): PolicyOverride {
  return { name, target: writeTarget(target), policy, untilMs: record.untilMs ?? null, ...showChange(record) };
}

function showChange({ atMs, by, reason }: PolicyRecord): PolicyChange {
  return { changedAtMs: atMs, by: by ?? null, reason: reason ?? null };
}
