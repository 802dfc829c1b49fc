import { isSluiceError, getMessage, PolicyError, shown, StoreError, typeError } from '../errors.ts';
import { compile, parsePolicy, scalePolicy, type Policy, type Rule } from '../policies/index.ts';
import { readMaker } from '../policies/rule.ts';
import { slidingWindow } from '../policies/sliding-window.ts';
import type { KnownKey } from '../stores/perform.ts';
import type { Ask } from '../stores/store.ts';
import { checkCost } from '../values/cost.ts';
import { listed, nearest } from '../values/hint.ts';
import { readSubject } from '../values/key.ts';
import { checkDistinct, parseName } from '../values/name.ts';
import { readOptions, type Reader } from '../values/shape.ts';
import {
  readMark,
  type PolicyContext,
  type PolicyFunction,
  type PolicyMark,
  type ReturnedPolicy,
} from './policy-function.ts';

/** One policy of a limit. For each subject it has its own key: `{subject` followed by its suffix. */
export interface Counted {
  readonly name: string;
  readonly policy: Policy;
  readonly rule: Rule;
  readonly suffix: string;
  /**
   * The keys of the last subjects, if the policies of its limit are fixed: joining and hashing a key takes as long as a
   * decision.
   */
  readonly keys: Map<string, KnownKey> | undefined;
  /** The part of it that this process allows on its own, by `localShare`. */
  readonly local: Policy;
}

const MAX_REMEMBERED = 10_000;

/** The policies that count one key of a request, or a function that returns them. */
export interface Limit {
  /** The name of its policy, unless the policy has its own. */
  readonly name: string;
  readonly fixed: readonly Counted[] | undefined;
  /** If its policies are not fixed: the mark of the function that returns them. */
  readonly mark: PolicyMark | undefined;
  /**
   * If its policies are not fixed: reads those of a key now; none if no policy is configured.
   *
   * @throws what the function throws; rejects with StoreError if its first load fails.
   */
  readonly read: (key: string) => readonly Counted[] | Promise<readonly Counted[]>;
  /** Its current policies for any key, as far as they are known. */
  readonly current: () => readonly Counted[];
  /** Whether its policies may hold slots, and whether they may delay a request. Both are true if they are not fixed. */
  readonly mayHold: boolean;
  readonly mayPace: boolean;
}

/** What a request takes from one limit. */
export interface Want {
  readonly limit: Limit;
  /** The key as the caller passed it. */
  readonly key: string;
  readonly subject: string;
  readonly cost: number;
  /** The holder of its slots; 0 if nothing is held. */
  readonly holder: number;
  /** Whether the caller named the holder, which may have held the slots before. */
  readonly isNamed: boolean;
  /** The policies of the key, if its limit had to read them. */
  readonly policies?: readonly Counted[];
}

/** One ask of a want: for one of its policies. */
export interface PolicyAsk extends Ask {
  readonly want: Want;
  readonly counted: Counted;
  readonly known: KnownKey;
}

/** Adds the current policies to the wants; none for a limit without a policy. */
export function readPolicies(wants: readonly Want[]): readonly Want[] | Promise<readonly Want[]> {
  if (wants.every(({ policies, limit }) => (policies ?? limit.fixed) !== undefined)) return wants;
  const read = wants.map(({ policies, limit, key }) => policies ?? limit.fixed ?? limit.read(key));
  const withPolicies = (all: readonly (readonly Counted[])[]): readonly Want[] =>
    wants.map((want, i) => ({ ...want, policies: all[i] as readonly Counted[] }));
  return read.some((policies) => policies instanceof Promise)
    ? Promise.all(read.map(async (policies) => policies)).then(withPolicies)
    : withPolicies(read as (readonly Counted[])[]);
}

/** The asks of wants whose policies are known: one per key, because functions of several limits may share a key. */
export function makeAsks(wants: readonly Want[], uncached: boolean): readonly PolicyAsk[] {
  if (wants.length === 1) return makeAsksFor(wants[0] as Want, uncached);
  const keys = new Set<string>();
  return wants.flatMap((want) => makeAsksFor(want, uncached)).filter(({ key }) => keys.size < keys.add(key).size);
}

/** A loop over a list of fixed length: closures and growing lists cost a tenth of a decision. */
function makeAsksFor(want: Want, uncached: boolean): readonly PolicyAsk[] {
  const { subject, cost } = want;
  const all = want.policies ?? want.limit.fixed ?? [];
  const asks = new Array<PolicyAsk>(all.length);
  for (let i = 0; i < all.length; i++) {
    const counted = all[i] as Counted;
    const { policy, rule } = counted;
    const known = counted.keys?.get(subject) ?? joinKey(counted, subject);
    const holder = rule.holds ? want.holder : 0;
    asks[i] = { key: known.key, policy, cost, holder, until: 0, uncached, want, counted, known };
  }
  return asks;
}

function joinKey({ suffix, keys }: Counted, subject: string): KnownKey {
  const known: KnownKey = { key: `{${subject}${suffix}`, keys: undefined, held: undefined };
  if (keys?.size === MAX_REMEMBERED) keys.clear();
  // Copied without the longer string it may have been cut from, which V8 would otherwise keep.
  keys?.set(Array.from(subject).join(''), known);
  return known;
}

/** The same asks, for the fallback memory of this process. */
export function makeLocal(asks: readonly PolicyAsk[]): readonly PolicyAsk[] {
  return asks.map((ask) => {
    const { local } = ask.counted;
    return { ...ask, policy: local, counted: { ...ask.counted, rule: compile(local) } };
  });
}

/** Keys by the name of their limit. */
export type KeyByLimit = Readonly<Record<string, string | undefined>>;

/** One of several limits, each with its own key. */
export interface LimitOptions<Name extends string = string> {
  readonly name: Name;
  readonly policy: Policy | PolicyFunction;
}

/** For options that are checked elsewhere. */
export const asGiven: Reader<unknown> = (given) => given;

const ENTRY = { name: parseName, policy: asGiven };

/** What a limit belongs to. */
export interface LimitPlace {
  readonly limiter: string;
  readonly context: PolicyContext;
  readonly localShare: number;
  /** The name of its entry in `limits`. */
  readonly entry?: string | undefined;
  readonly field?: string | undefined;
}

/**
 * The policy that the options define: `policy`, or `limit` and `window`.
 *
 * @param others - Other options that define a policy, for the error.
 */
export function readPolicy(
  { policy, limit, window }: { readonly policy?: unknown; readonly limit?: unknown; readonly window?: unknown },
  where: string,
  others: string,
): unknown {
  const isShort = limit !== undefined || window !== undefined;
  if (policy !== undefined && !isShort) return policy;
  if (policy === undefined && isShort) return slidingWindow({ limit, window } as Parameters<typeof slidingWindow>[0]);
  const wrong = isShort
    ? 'takes policy, or limit and window, got both; put the numbers into the policy'
    : `needs limit and window, such as { limit: 100, window: "1m" }, or a policy, ${others}; got none of them`;
  throw new PolicyError('policy', `${where} ${wrong}`);
}

/**
 * The limit of one policy, of a list of named policies, or of a function that returns one of these.
 *
 * @throws PolicyError.
 */
export function readLimit(given: unknown, place: LimitPlace): Limit {
  const { limiter, entry, context } = place;
  const suffix = entry === undefined ? `}:${limiter}` : `}:${limiter}:${entry}`;
  if (typeof given !== 'function' || readMaker(given) !== undefined) {
    const name = entry ?? limiter;
    const fixed = countPolicies(given, name, suffix, place).map((counted) => ({ ...counted, keys: new Map() }));
    const read = (): readonly Counted[] => fixed;
    const mayHold = fixed.some(({ rule }) => rule.holds);
    const mayPace = fixed.some(({ rule }) => rule.paces);
    return { name, fixed, mark: undefined, read, current: read, mayHold, mayPace };
  }
  const mark = readMark(given);
  const name = entry ?? mark?.name ?? limiter;
  const known = new WeakMap<object, { readonly suffix: string; readonly counted: readonly Counted[] }>();
  const count = (policy: ReturnedPolicy): readonly Counted[] => {
    if (policy === undefined) return [];
    const own = mark?.name === undefined ? suffix : `}::${mark.keyName?.(context) ?? mark.name}`;
    const found = known.get(policy);
    if (found?.suffix === own) return found.counted;
    const counted = countPolicies(policy, name, own, place);
    known.set(policy, { suffix: own, counted });
    return counted;
  };
  let isLoaded = false;
  const load = async (policy: PromiseLike<ReturnedPolicy>): Promise<readonly Counted[]> => {
    try {
      const loaded = await policy;
      isLoaded = true;
      return count(loaded);
    } catch (error) {
      if (isLoaded || isSluiceError(error)) throw error;
      const message = `the policy function failed: ${getMessage(error)}`;
      throw new StoreError('SLUICE_STORE_FAILED', message, { cause: error, sent: false });
    }
  };
  const read: Limit['read'] = (key) => {
    const policy = (given as PolicyFunction)(key, context);
    if (typeof (policy as Partial<PromiseLike<unknown>> | undefined)?.then === 'function') {
      const loading = load(policy as PromiseLike<ReturnedPolicy>);
      loading.catch(() => undefined); // nothing else does if the function of another limit throws
      return loading;
    }
    isLoaded = true;
    return count(policy as ReturnedPolicy);
  };
  const current = (): readonly Counted[] => count(mark?.current?.(context));
  return { name, fixed: undefined, mark, read, current, mayHold: true, mayPace: true };
}

/**
 * The limits of a list, by name.
 *
 * @throws PolicyError naming the entry and the field.
 */
export function readLimits(
  given: unknown,
  core: { limitFor(policy: unknown, entry: string, field: string): Limit },
): ReadonlyMap<string, Limit> {
  if (!Array.isArray(given) || given.length === 0) {
    const example = '[{ name: "per-ip", policy: fixedWindow({ limit: 100, window: "1m" }) }]';
    throw new PolicyError('limits', `limits must be a list such as ${example}, got ${shown(given)}`);
  }
  const entries = given.map((entry: unknown, i) => {
    const where = `limits[${String(i)}]`;
    return { where, ...readOptions(entry, ENTRY, where, 'SLUICE_POLICY_INVALID', `${where}.`) };
  });
  checkDistinct(
    entries.map(({ name }) => name),
    'limits.name',
  );
  return new Map(entries.map(({ where, name, policy }) => [name, core.limitFor(policy, name, `${where}.policy`)]));
}

/**
 * The policies of a limit, each with its name and the suffix of its keys. A single policy may have no name; several
 * need a name each.
 *
 * @throws PolicyError for a value that is not a policy, a missing or bad name, two names that differ only in case, or a
 * share for this process that cannot be counted exactly.
 */
function countPolicies(
  given: unknown,
  ownName: string,
  ownSuffix: string,
  { entry, field = 'policy', localShare }: LimitPlace,
): readonly Counted[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw new PolicyError(field, `${field} must be a policy or a list of them, got an empty list`);
  const isAlone = list.length === 1;
  const counted = list.map((item, i): Counted => {
    const where = isAlone ? field : `${field}[${String(i)}]`;
    const policy = parsePolicy(item, where);
    const name = isAlone ? (entry ?? policy.name ?? ownName) : policy.name;
    if (name === undefined) {
      const expected = `${where} needs a name, because there are several policies`;
      throw new PolicyError(`${where}.name`, `${expected}; write fixedWindow({ name: "burst", ... })`);
    }
    const suffix = name === ownName ? ownSuffix : `${ownSuffix}:${name}`;
    const local = localShare === 1 ? policy : scaleLocally(policy, localShare, name);
    return { name, policy, rule: compile(policy), suffix, keys: undefined, local };
  });
  checkDistinct(
    counted.map(({ name }) => name),
    `${field}.name`,
  );
  return counted;
}

function scaleLocally(policy: Policy, localShare: number, name: string): Policy {
  try {
    return scalePolicy(policy, localShare);
  } catch (error) {
    const what = `localShare must be a share of the policy ${shown(name)} that can be counted, got ${shown(localShare)}`;
    throw new PolicyError('localShare', `${what}: ${getMessage(error)}`, 'SLUICE_OPTION_INVALID');
  }
}

/**
 * What a request takes from the only limit of its limiter, or from those that have a key.
 *
 * @throws TypeError `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`.
 */
export function readWants(limits: Limit | ReadonlyMap<string, Limit>, keys: unknown, cost: number): readonly Want[] {
  checkCost(cost);
  return limits instanceof Map
    ? readWantsByName(limits as ReadonlyMap<string, Limit>, keys, cost)
    : [readWant(limits as Limit, keys, cost)];
}

function readWant(limit: Limit, key: unknown, cost: number, where?: string): Want {
  return { limit, key: key as string, subject: readSubject(key, where), cost, holder: 0, isNamed: false };
}

function readWantsByName(byName: ReadonlyMap<string, Limit>, keys: unknown, cost: number): readonly Want[] {
  const names = [...byName.keys()];
  const invalidKeys = (what: string): TypeError => typeError('SLUICE_KEY_INVALID', `${what}; nothing was consumed`);
  if (typeof keys !== 'object' || keys === null) {
    throw invalidKeys(`with limits the key is an object with a key for ${listed(names)}, got ${shown(keys)}`);
  }
  const given = new Map<string, unknown>(Object.entries(keys).filter(([, key]) => key !== undefined));
  for (const name of Object.keys(keys)) {
    if (byName.has(name)) continue;
    const meant = nearest(name, names);
    const hint = meant === undefined ? `known: ${listed(names)}` : `did you mean ${shown(meant)}?`;
    throw invalidKeys(`there is no limit named ${shown(name)}; ${hint}`);
  }
  if (given.size === 0) throw invalidKeys(`at least one limit needs a key, got none for ${listed(names)}`);
  return [...byName].flatMap(([name, limit]) =>
    given.has(name) ? [readWant(limit, given.get(name), cost, `the key of ${name}`)] : [],
  );
}
