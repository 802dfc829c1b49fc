import { PolicyError, shown, typeError } from './errors.ts';
import { checkSubject, encodeSubject } from './key.ts';
import type { LimiterCore } from './limiter-core.ts';
import { isManagedReference, type ManagedReference } from './managed/managed.ts';
import type { AskedLimit } from './managed/resolve.ts';
import { parseName } from './name.ts';
import { checkOptions, listed, nearest } from './options.ts';
import { checkDistinct, namePolicies, namePolicy, type Policy } from './policy.ts';

/** One of several limits that each have a key of their own. */
export interface LimitOptions<Name extends string = string> {
  readonly name: Name;
  readonly policy: Policy | ManagedReference;
}

export type SubjectByLimit = Readonly<Record<string, string | undefined>>;
/** What a limiter counts: one limit or, with a key each, several by their names. */
export type LimiterLimits = AskedLimit | ReadonlyMap<string, AskedLimit>;
/** Where a key's units are counted: its limits, and its encoded subject under each. */
export type Place = readonly [limit: AskedLimit, subject: string];

/** The limit of a limiter that is given one policy, or several. */
export function singleLimit(core: LimiterCore, policy: unknown): AskedLimit {
  if (policy === undefined) {
    throw new PolicyError(
      'policy',
      'createLimiter needs a policy, such as fixedWindow({ limit: 100, window: "1m" }), or limits; got neither',
    );
  }
  return limitOfPolicy(core, policy);
}

/** The limit of a policy, of several, or of one that is managed. */
export function limitOfPolicy(core: LimiterCore, policy: unknown): AskedLimit {
  if (isManagedReference(policy)) return core.limits.managed(policy);
  if (Array.isArray(policy) && policy.some(isManagedReference)) {
    throw new PolicyError(
      'policy',
      'a managed policy stands alone, and cannot be one of a list; give it an entry of its own in limits',
    );
  }
  return core.limits.of(namePolicies(policy, core.name));
}

/** Where the units of a key per limit are counted. */
export function placesByLimit(limits: ReadonlyMap<string, AskedLimit>, keys: unknown): readonly Place[] {
  const names = [...limits.keys()];
  if (typeof keys !== 'object' || keys === null) {
    throw typeError(
      'SLUICE_KEY_INVALID',
      `with limits the key is an object with a key for ${listed(names)}, got ${shown(keys)}; nothing was consumed`,
    );
  }
  for (const name of Object.keys(keys)) {
    if (limits.has(name)) continue;
    const meant = nearest(name, names);
    const hint = meant === undefined ? `known: ${listed(names)}` : `did you mean ${shown(meant)}?`;
    throw typeError('SLUICE_KEY_INVALID', `there is no limit named ${shown(name)}; ${hint}; nothing was consumed`);
  }
  const places: Place[] = [];
  for (const [name, limit] of limits) {
    const key = Object.hasOwn(keys, name) ? (keys as SubjectByLimit)[name] : undefined;
    if (key === undefined) continue;
    checkSubject(key, `the key of ${name}`);
    places.push([limit, encodeSubject(key)]);
  }
  if (places.length === 0) {
    throw typeError(
      'SLUICE_KEY_INVALID',
      `at least one limit needs a key, got none for ${listed(names)}; nothing was consumed`,
    );
  }
  return places;
}

export function isByName(limits: LimiterLimits): limits is ReadonlyMap<string, AskedLimit> {
  return limits instanceof Map;
}

/**
 * The limits of a `limits` list, checked, by name.
 *
 * @param isLater - Whether an entry's policy is none yet, so that it is checked and left out.
 * @throws PolicyError naming the entry and the field.
 */
export function limitsByName(
  core: LimiterCore,
  given: unknown,
  known: readonly string[] = ['name', 'policy'],
  isLater: (policy: unknown) => boolean = () => false,
): ReadonlyMap<string, AskedLimit> {
  if (!Array.isArray(given) || given.length === 0) {
    throw new PolicyError(
      'limits',
      `limits must be a list such as [{ name: "per-ip", policy: fixedWindow({ limit: 100, window: "1m" }) }], got ${shown(given)}`,
    );
  }
  const names = given.map((item: unknown, i) => {
    const where = `limits[${String(i)}]`;
    checkOptions(item, known, where);
    return parseName((item as LimitOptions).name, `${where}.name`);
  });
  checkDistinct(names, 'limits.name');
  const limits = new Map<string, AskedLimit>();
  for (const [i, name] of names.entries()) {
    const { policy } = given[i] as LimitOptions;
    if (isLater(policy)) continue;
    limits.set(
      name,
      isManagedReference(policy)
        ? core.limits.managed(policy, name)
        : core.limits.of([namePolicy(policy, name, `limits[${String(i)}].policy`)]),
    );
  }
  return limits;
}
