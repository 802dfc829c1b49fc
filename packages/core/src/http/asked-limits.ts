import { slidingWindow } from '../algorithms/sliding-window/policy.ts';
import type { Duration } from '../duration.ts';
import { PolicyError, shown } from '../errors.ts';
import type { LimiterCore } from '../limiter-core.ts';
import { PlacedLimiter } from '../limiter.ts';
import { isByName, limitOfPolicy, limitsByName, type LimiterLimits } from '../limiter-limits.ts';
import { listed } from '../options.ts';
import type { Policy } from '../policy.ts';
import { isManagedReference } from '../managed/managed.ts';
import type { AskedLimit as LimitToAsk } from '../managed/resolve.ts';
import { eventually } from './eventually.ts';
import type { RequestReader } from './framework.ts';
import { byIp, type Key } from './keys/key-parts.ts';
import { isOptionalKey, keyFunction, type ReadKey } from './keys/read-key.ts';
import { PER_LIMIT_OPTIONS, type HttpLimitOptions, type OnMissingKey, type PolicyOption } from './options.ts';

type PickLimit<Request> = (request: Request) => LimitToAsk | Promise<LimitToAsk>;

/** One limit of a request, ready to be asked. */
export interface AskedLimit<Request> {
  readonly name: string;
  readonly readKey: ReadKey<Request>;
  readonly cost: number | ((request: Request) => number | Promise<number>);
  readonly onMissingKey: OnMissingKey;
  /** The same for all requests, or picked for each. */
  readonly limit: LimitToAsk | PickLimit<Request>;
}

/** What a user's options say of limits and keys, before it is known which of them go together. */
interface GivenLimits<Request> {
  policy?: PolicyOption<Request> | undefined;
  limit?: number | undefined;
  window?: Duration | undefined;
  limits?: readonly HttpLimitOptions<Request>[] | undefined;
  limiter?: unknown;
  key?: Key<Request> | undefined;
  cost?: AskedLimit<Request>['cost'] | undefined;
  onMissingKey?: OnMissingKey | undefined;
}

/** The limits that options ask for, and the limiter over them; none where a function picks the policy. */
export interface AskedLimits<Request> {
  readonly asked: readonly AskedLimit<Request>[];
  readonly limits: LimiterLimits | undefined;
}

/**
 * Reads the options `policy`, `limit` and `window`, `limits` or `limiter`, and the keys that go with them.
 *
 * @throws PolicyError naming the field, what was expected and what came.
 */
export function askedLimits<Request>(
  core: LimiterCore,
  given: GivenLimits<Request>,
  reader: RequestReader<Request>,
): AskedLimits<Request> {
  if (given.limits !== undefined && given.limiter === undefined) return ofLimits(core, given, given.limits, reader);
  const limit = given.limiter === undefined ? limitOf(core, policyOption(given)) : handedIn(given.limiter).limit;
  const asked = askedLimit(core.name, given, limit, reader, 'deny');
  return { asked: [asked], limits: typeof limit === 'function' ? undefined : limit };
}

/**
 * What a limiter that was handed in is made of.
 *
 * @throws PolicyError when it is none, or one of several limits.
 */
export function handedIn(limiter: unknown): { readonly core: LimiterCore; readonly limit: LimitToAsk } {
  const parts = PlacedLimiter.partsOf(limiter);
  if (parts === undefined) {
    throw new PolicyError(
      'limiter',
      `limiter must be what createLimiter() of this copy of @sluice/core made, got ${shown(limiter)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (isByName(parts.limits)) {
    throw new PolicyError(
      'limiter',
      `limiter must be one with a single key, got one with the limits ${listed([...parts.limits.keys()])}; give rateLimit those limits, with their keys`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { core: parts.core, limit: parts.limits };
}

function ofLimits<Request>(
  core: LimiterCore,
  given: GivenLimits<Request>,
  entries: readonly HttpLimitOptions<Request>[],
  reader: RequestReader<Request>,
): AskedLimits<Request> {
  for (const [name, value] of Object.entries(given) as [string, unknown][]) {
    if (value === undefined || !['policy', 'limit', 'window', 'key', 'onMissingKey'].includes(name)) continue;
    throw new PolicyError(
      name,
      `${name} goes into the entries of limits, got ${shown(value)} beside them`,
      'SLUICE_OPTION_INVALID',
    );
  }
  const isFunction = (policy: unknown): boolean => typeof policy === 'function';
  const limits = limitsByName(core, entries, ['name', 'policy', ...PER_LIMIT_OPTIONS], isFunction);
  const asked = entries.map((entry, i) => {
    const limit = limits.get(entry.name) ?? limitOf(core, entry.policy);
    const missing = entry.key !== undefined && isOptionalKey(entry.key) ? 'skip' : 'deny';
    const withCost = given.cost === undefined || entry.cost !== undefined ? entry : { ...entry, cost: given.cost };
    return askedLimit(entry.name, withCost, limit, reader, missing, `limits[${String(i)}].`);
  });
  return { asked, limits: limits.size === entries.length ? limits : undefined };
}

interface OneAsked<Request> {
  key?: Key<Request> | undefined;
  cost?: AskedLimit<Request>['cost'] | undefined;
  onMissingKey?: OnMissingKey | undefined;
}

function askedLimit<Request>(
  name: string,
  options: OneAsked<Request>,
  limit: AskedLimit<Request>['limit'],
  reader: RequestReader<Request>,
  missing: OnMissingKey,
  where = '',
): AskedLimit<Request> {
  const { key = byIp<Request>(), cost = 1 } = options;
  const onMissingKey: string = options.onMissingKey === undefined ? missing : options.onMissingKey;
  if (onMissingKey !== 'deny' && onMissingKey !== 'skip' && onMissingKey !== 'shared') {
    const field = `${where}onMissingKey`;
    throw new PolicyError(
      field,
      `${field} must be "deny", "skip" or "shared", got ${shown(onMissingKey)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  if (typeof cost !== 'function' && (!Number.isSafeInteger(cost) || cost < 1)) {
    const field = `${where}cost`;
    throw new PolicyError(
      field,
      `${field} must be a whole number, at least 1, or a function of the request, got ${shown(cost)}`,
      'SLUICE_OPTION_INVALID',
    );
  }
  return { name, readKey: keyFunction(key, reader, `${where}key`), cost, onMissingKey, limit };
}

function policyOption<Request>({ policy, limit, window }: GivenLimits<Request>): PolicyOption<Request> {
  if (policy !== undefined) {
    if (limit === undefined && window === undefined) return policy;
    throw new PolicyError(
      'policy',
      'rateLimit takes policy, or limit and window, got both; put the numbers into the policy',
    );
  }
  if (limit === undefined && window === undefined) {
    throw new PolicyError(
      'policy',
      'rateLimit needs limit and window, such as { limit: 100, window: "1m" }, or a policy, limits, or a limiter; got none of them',
    );
  }
  return slidingWindow({ limit: limit as number, window: window as Duration });
}

const MOST_MANAGED = 1000;

/** The limit of a policy option. A policy that a function hands out again and again is checked once. */
function limitOf<Request>(core: LimiterCore, option: PolicyOption<Request>): AskedLimit<Request>['limit'] {
  if (typeof option !== 'function') return limitOfPolicy(core, option);
  const known = new WeakMap<object, LimitToAsk>();
  /** By name: `managed(name)` may be written anew for every request. */
  const knownManaged = new Map<string, LimitToAsk>();
  const limitOfPicked = (policy: unknown): LimitToAsk => {
    if (typeof policy !== 'object' || policy === null) {
      throw new PolicyError(
        'policy',
        `the policy function must answer a policy or a list of them, got ${shown(policy)}; requests without a limit are for skip`,
      );
    }
    let limit = isManagedReference(policy) ? knownManaged.get(policy.name) : known.get(policy);
    if (limit === undefined && isManagedReference(policy)) {
      limit = limitOfPolicy(core, policy);
      if (knownManaged.size >= MOST_MANAGED) knownManaged.clear(); // names may be what callers say
      knownManaged.set(policy.name, limit);
    }
    if (limit === undefined) {
      for (const one of Array.isArray(policy) ? (policy as Policy[]) : [policy as Policy]) {
        if ((one as Partial<Policy> | null)?.name !== undefined) continue;
        throw new PolicyError(
          'policy.name',
          'a policy that a function answers needs a name: policies of different names never share state',
        );
      }
      limit = limitOfPolicy(core, policy);
      known.set(policy, limit);
    }
    return limit;
  };
  return (request) => eventually<unknown, LimitToAsk>(option(request), limitOfPicked);
}
