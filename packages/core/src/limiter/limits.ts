import { PolicyError, messageOf, shown, typeError } from '../errors.ts';
import { compile, parsePolicy, scalePolicy, type Policy, type Rule } from '../policies/index.ts';
import { slidingWindow } from '../policies/sliding-window.ts';
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

const MAX_REMEMBERED = 10_000;

/** One policy of a limit. It has a key of its own for each subject: `{subject`, and then its suffix. */
export interface Counted {
  readonly name: string;
  readonly policy: Policy;
  readonly rule: Rule;
  readonly suffix: string;
  /** Set on first use: what this process allows by itself, by `localShare`. */
  local: Counted | undefined;
}

/** The policies that count one key of a request, or a function that returns them. */
export interface Limit {
  /** The name of its policy, unless that has one of its own. */
  readonly name: string;
  readonly fixed: readonly Counted[] | undefined;
  /** If they are not fixed: how the function is marked that returns them. */
  readonly mark: PolicyMark | undefined;
  /** If they are not fixed: the policies of a key at present; none if no policy is configured. Never throws. */
  readonly read: (key: string) => readonly Counted[] | Promise<readonly Counted[]>;
  /** Whether its policies may hold slots, and whether they may delay a request: true if they are not fixed. */
  readonly mayHold: boolean;
  readonly mayPace: boolean;
  /** What was asked for one unit of each of the last keys, if its policies are fixed, and hold no slots. */
  readonly asked: Map<string, readonly PolicyAsk[]> | undefined;
}

/** What a request wants of one limit. */
export interface Want {
  readonly limit: Limit;
  /** The key as the caller gives it. */
  readonly key: string;
  readonly subject: string;
  readonly cost: number;
  /** Who holds its slots; 0 if nothing is held. */
  readonly holder: number;
  /** Whether the caller named the holder, who may have held the slots before. */
  readonly isNamed: boolean;
  /** The policies of the key, if its limit had to load them. */
  readonly policies?: readonly Counted[];
}

/** What is asked of one policy of a want. */
export interface PolicyAsk extends Ask {
  readonly want: Want;
  readonly counted: Counted;
}

/** The asks of a want with these policies. */
export function makeAsks(want: Want, policies: readonly Counted[], uncached: boolean): readonly PolicyAsk[] {
  return policies.map((counted): PolicyAsk => {
    const { policy, rule, suffix } = counted;
    const key = `{${want.subject}${suffix}`;
    return { key, policy, cost: want.cost, holder: rule.holds ? want.holder : 0, until: 0, uncached, want, counted };
  });
}

/**
 * What a request wants of the only limit of its limiter.
 *
 * @throws TypeError `SLUICE_KEY_INVALID`; RangeError or TypeError `SLUICE_COST_INVALID`.
 */
export function readWant(limit: Limit, key: unknown, cost: number): Want {
  checkCost(cost);
  return { limit, key: key as string, subject: readSubject(key), cost, holder: 0, isNamed: false };
}

/**
 * Asks for a unit of a key whose limit remembers what is asked.
 *
 * @throws TypeError `SLUICE_KEY_INVALID`.
 */
export function askForUnit(limit: Limit, key: unknown, uncached: boolean): readonly PolicyAsk[] {
  const { asked, fixed = [] } = limit;
  const want = readWant(limit, key, 1);
  if (want.subject !== key) return makeAsks(want, fixed, uncached); // it may be long
  const own = copy(key);
  const asks = makeAsks({ ...want, key: own, subject: own }, fixed, uncached);
  if (asked?.size === MAX_REMEMBERED) asked.clear();
  asked?.set(own, asks);
  return asks;
}

/** The text without the longer one that it may have been cut from: V8 would keep that as well. */
function copy(text: string): string {
  const joined = ` ${text}`;
  joined.charCodeAt(0); // any use of a character makes V8 join the parts
  return joined.slice(1);
}

/** The asks of several wants. Functions of several limits may return one policy: then one key counts a request once. */
export function joinAsks(some: readonly PolicyAsk[], others: readonly PolicyAsk[]): readonly PolicyAsk[] {
  if (some.length === 0) return others;
  return [...some, ...others.filter(({ key }) => !some.some((ask) => ask.key === key))];
}

/** Keys by the name of their limit. */
export type KeyByLimit = Readonly<Record<string, string | undefined>>;

/** One of several limits that each have a key of their own. */
export interface LimitOptions<Name extends string = string> {
  readonly name: Name;
  readonly policy: Policy | PolicyFunction;
}

const asGiven: Reader<unknown> = (given) => given;
const ENTRY = { name: parseName, policy: asGiven };

/** What a limit belongs to. */
export interface LimitPlace {
  readonly limiter: string;
  readonly context: PolicyContext;
}

interface Place {
  readonly name: string;
  /** The end of the key of a policy of that name. */
  readonly suffix: string;
  /** Whether a single policy always takes that name. */
  readonly isEntry: boolean;
  readonly field: string;
}

/**
 * The policy that options define: `policy`, or `limit` and `window`.
 *
 * @param others - What also defines one, for the error.
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
 * The limit of one policy, of a list of named ones, or of a function that returns one of these.
 *
 * @param entry - The name of its entry in `limits`.
 * @throws PolicyError.
 */
export function readLimit(
  given: unknown,
  {
    limiter,
    context,
    entry,
    field = 'policy',
  }: LimitPlace & { readonly entry?: string | undefined; readonly field?: string | undefined },
): Limit {
  const isEntry = entry !== undefined;
  const suffix = isEntry ? `}:${limiter}:${entry}` : `}:${limiter}`;
  if (typeof given !== 'function') {
    const name = entry ?? limiter;
    const fixed = countPolicies(given, { name, suffix, isEntry, field });
    const mayHold = fixed.some(({ rule }) => rule.holds);
    const mayPace = fixed.some(({ rule }) => rule.paces);
    const asked = mayHold ? undefined : new Map<string, readonly PolicyAsk[]>();
    return { name, fixed, mark: undefined, read: () => fixed, mayHold, mayPace, asked };
  }
  const mark = readMark(given);
  const name = entry ?? mark?.name ?? limiter;
  const known = new WeakMap<object, { readonly suffix: string; readonly counted: readonly Counted[] }>();
  const count = (policy: ReturnedPolicy): readonly Counted[] => {
    if (policy === undefined) return [];
    const own = mark?.name === undefined ? suffix : `}::${mark.keyName?.(context) ?? mark.name}`;
    const found = known.get(policy);
    if (found?.suffix === own) return found.counted;
    const counted = countPolicies(policy, { name, suffix: own, isEntry, field });
    known.set(policy, { suffix: own, counted });
    return counted;
  };
  const read: Limit['read'] = (key) => {
    try {
      const policy = (given as PolicyFunction)(key, context);
      return isThenable(policy) ? Promise.resolve(policy).then(count) : count(policy);
    } catch (error) {
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- what was thrown, whatever it is
      return Promise.reject(error);
    }
  };
  return { name, fixed: undefined, mark, read, mayHold: true, mayPace: true, asked: undefined };
}

function isThenable<T>(value: T | PromiseLike<T>): value is PromiseLike<T> {
  return typeof (value as Partial<PromiseLike<T>> | undefined)?.then === 'function';
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
 * The policies of a limit, each with its name and the suffix of its keys. A single one may have no name; several need
 * names of their own.
 *
 * @throws PolicyError for a value that is not a policy, a missing or bad name, or two names that differ only in case.
 */
function countPolicies(
  given: unknown,
  { name: ownName, suffix: ownSuffix, isEntry, field }: Place,
): readonly Counted[] {
  const list: readonly unknown[] = Array.isArray(given) ? given : [given];
  if (list.length === 0) throw new PolicyError(field, `${field} must be a policy or a list of them, got an empty list`);
  if (list.some((item) => typeof item === 'function')) {
    throw new PolicyError(
      field,
      `a function cannot be one of a list of policies; give it an entry of its own in limits`,
    );
  }
  const counted = list.map((item, i): Counted => {
    const where = list.length === 1 ? field : `${field}[${String(i)}]`;
    const policy = parsePolicy(item, where);
    const name = isEntry && list.length === 1 ? ownName : (policy.name ?? (list.length === 1 ? ownName : undefined));
    if (name === undefined) {
      const expected = `${where} needs a name: of several policies each has one of its own`;
      throw new PolicyError(`${where}.name`, `${expected}; write fixedWindow({ name: "burst", ... })`);
    }
    const suffix = name === ownName ? ownSuffix : `${ownSuffix}:${name}`;
    return { name, policy, rule: compile(policy), suffix, local: undefined };
  });
  checkDistinct(
    counted.map(({ name }) => name),
    `${field}.name`,
  );
  return counted;
}

/**
 * A policy as this process counts it by itself.
 *
 * @throws PolicyError if that share cannot be counted exactly.
 */
export function readLocal(counted: Counted, share: number): Counted {
  if (share === 1) return counted;
  try {
    const policy = (counted.local ??= { ...counted, policy: scalePolicy(counted.policy, share) }).policy;
    return Object.assign(counted.local, { rule: compile(policy) });
  } catch (error) {
    const why = messageOf(error).replace(/ \[\w+\]$/, '');
    const what = `localShare ${String(share)} of the policy ${shown(counted.name)} cannot be counted: ${why}`;
    throw new PolicyError('localShare', what, 'SLUICE_OPTION_INVALID');
  }
}

/**
 * What a request wants of the limits that have a key.
 *
 * @throws as {@link readWant} does.
 */
export function readWants(limits: ReadonlyMap<string, Limit>, keys: unknown, cost: number): readonly Want[] {
  checkCost(cost);
  const names = [...limits.keys()];
  const invalidKeys = (what: string): TypeError => typeError('SLUICE_KEY_INVALID', `${what}; nothing was consumed`);
  if (typeof keys !== 'object' || keys === null) {
    throw invalidKeys(`with limits the key is an object with a key for ${listed(names)}, got ${shown(keys)}`);
  }
  for (const name of Object.keys(keys)) {
    if (limits.has(name)) continue;
    const meant = nearest(name, names);
    const hint = meant === undefined ? `known: ${listed(names)}` : `did you mean ${shown(meant)}?`;
    throw invalidKeys(`there is no limit named ${shown(name)}; ${hint}`);
  }
  const wants: Want[] = [];
  for (const [name, limit] of limits) {
    const key = Object.hasOwn(keys, name) ? (keys as KeyByLimit)[name] : undefined;
    if (key === undefined) continue;
    wants.push({ limit, key, subject: readSubject(key, `the key of ${name}`), cost, holder: 0, isNamed: false });
  }
  if (wants.length === 0) throw invalidKeys(`at least one limit needs a key, got none for ${listed(names)}`);
  return wants;
}

/** Whether a value is an object of keys by the names of their limits, and nothing else. */
export function areKeys(limits: ReadonlyMap<string, Limit>, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  const fields = Object.entries(value);
  return fields.length > 0 && fields.every(([name, key]) => limits.has(name) && typeof key === 'string');
}
