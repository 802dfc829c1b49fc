import { PolicyError, shown, typeError } from '../errors.ts';
import { subjectOf } from '../engine/key.ts';
import type { LimiterCore } from './core.ts';
import type { LimitRef } from '../engine/limit-source.ts';
import { isReference, type LimitReference } from './limit-reference.ts';
import { slidingWindow } from '../algorithms/sliding-window/index.ts';
import type { SlidingWindowOptions, SlidingWindowPolicy } from '../algorithms/sliding-window/policy.ts';
import { parseName } from '../values/name.ts';
import { checkOptions } from '../values/check-options.ts';
import { listed, nearest } from '../values/hint.ts';
import { checkDistinct, namePolicies, namePolicy, type Policy } from '../engine/policy.ts';

/** One of several limits that each have a key of their own. */
export interface LimitOptions<Name extends string = string> {
  readonly name: Name;
  readonly policy: Policy | LimitReference;
}

export type SubjectByLimit = Readonly<Record<string, string | undefined>>;
/** The limits of a limiter: one, or several by their names with a key each. */
export type LimiterLimits = LimitRef | ReadonlyMap<string, LimitRef>;
/** A limit, the key that is counted under it, and the encoded subject of that. */
export type LimitSubject = readonly [limit: LimitRef, subject: string, key: string];

/** The policy that options define: `policy`, or `limit` and `window`. `others` do so too, for the error. */
export function givenPolicy<Given>(
  { policy, limit, window }: { policy?: Given | undefined; limit?: unknown; window?: unknown },
  where: string,
  others: string,
): Given | SlidingWindowPolicy {
  const isShort = limit !== undefined || window !== undefined;
  if (policy !== undefined && !isShort) return policy;
  if (policy === undefined && isShort) return slidingWindow({ limit, window } as SlidingWindowOptions);
  const wrong = isShort
    ? 'takes policy, or limit and window, got both; put the numbers into the policy'
    : `needs limit and window, such as { limit: 100, window: "1m" }, or a policy, ${others}; got none of them`;
  throw new PolicyError('policy', `${where} ${wrong}`);
}

/** The limit of one policy, of several, or of a reference. */
export function limitOfPolicy(core: LimiterCore, policy: unknown): LimitRef {
  if (isReference(policy)) return core.limits.from(policy);
  if (Array.isArray(policy) && policy.some(isReference)) {
    throw new PolicyError(
      'policy',
      'a managed policy stands alone, and cannot be one of a list; give it an entry of its own in limits',
    );
  }
  return core.limits.of(namePolicies(policy, core.name));
}

/** The limits that have a key, with their encoded subjects. */
export function subjectsByLimit(limits: ReadonlyMap<string, LimitRef>, keys: unknown): readonly LimitSubject[] {
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
  const subjects: LimitSubject[] = [];
  for (const [name, limit] of limits) {
    const key = Object.hasOwn(keys, name) ? (keys as SubjectByLimit)[name] : undefined;
    if (key === undefined) continue;
    subjects.push([limit, subjectOf(key, `the key of ${name}`), key]);
  }
  if (subjects.length === 0) {
    throw typeError(
      'SLUICE_KEY_INVALID',
      `at least one limit needs a key, got none for ${listed(names)}; nothing was consumed`,
    );
  }
  return subjects;
}

/** Whether a value is an object of keys by the names of their limits, and nothing else. */
export function areKeys(limits: ReadonlyMap<string, LimitRef>, value: unknown): value is SubjectByLimit {
  if (typeof value !== 'object' || value === null) return false;
  const fields = Object.entries(value);
  return fields.length > 0 && fields.every(([name, key]) => limits.has(name) && typeof key === 'string');
}

export function isByName(limits: LimiterLimits): limits is ReadonlyMap<string, LimitRef> {
  return limits instanceof Map;
}

/**
 * The limits of a `limits` list, checked, by name.
 *
 * @param isLater - Whether the policy of an entry is not known yet, so that the entry is checked and left out.
 * @throws PolicyError naming the entry and the field.
 */
export function limitsByName(
  core: LimiterCore,
  given: unknown,
  known: readonly string[] = ['name', 'policy'],
  isLater: (policy: unknown) => boolean = () => false,
): ReadonlyMap<string, LimitRef> {
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
  const limits = new Map<string, LimitRef>();
  for (const [i, name] of names.entries()) {
    const { policy } = given[i] as LimitOptions;
    if (isLater(policy)) continue;
    limits.set(
      name,
      isReference(policy)
        ? core.limits.from(policy, name)
        : core.limits.of([namePolicy(policy, name, `limits[${String(i)}].policy`)]),
    );
  }
  return limits;
}
