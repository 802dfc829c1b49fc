import {
  CORE_OPTIONS,
  checkOptions,
  givenPolicy,
  shown,
  type LimiterCore,
  LimiterImpl,
  isByName,
  limitOfPolicy,
  limitsByName,
  type LimiterLimits,
  listed,
  isReference,
  makerName,
  type LimitRef,
} from '@sluice/old-core/spi';
import { PolicyError, type Duration, type Policy } from '@sluice/old-core';
import { mapMaybe } from './map-maybe.ts';
import type { RequestReader } from './framework.ts';
import { addressForPreflights, type AddressReader, type Key } from './keys/key-parts.ts';
import { isOptionalKey, keyFunction, type ReadKey } from './keys/read-key.ts';
import type { HttpLimitOptions, PolicyOption } from './option-types.ts';
import {
  PER_LIMIT_OPTIONS,
  readPerLimitOptions,
  SHARED_OPTIONS,
  type OnMissingKey,
  type PerLimitSettings,
} from './options.ts';

type PickLimit<Request, Response> = (request: Request, response: Response | undefined) => LimitRef | Promise<LimitRef>;
type CostOption<Request, Response> = PerLimitSettings<Request, Response>['cost'];

/** One limit of each request, with its options parsed. */
export interface HttpLimit<Request, Response> {
  readonly name: string;
  readonly readKey: ReadKey<Request, Response>;
  /** By which CORS preflights count; undefined if the key is made of more than address, route and method. */
  readonly address: AddressReader<Request> | undefined;
  readonly cost: CostOption<Request, Response>;
  readonly onMissingKey: OnMissingKey;
  /** Whether the user has said what a missing key means, so that a denied request is no mistake. */
  readonly expectsMissingKeys: boolean;
  /** The same for all requests, or picked for each request. */
  readonly limit: LimitRef | PickLimit<Request, Response>;
}

export const LIMIT_OPTIONS: readonly string[] = ['limit', 'window', 'policy', 'limits', 'limiter'];

/**
 * Checks that all options exist, and that none contradicts a `limiter`.
 *
 * @param ownOptions - Further options, of the adapter itself.
 * @throws PolicyError for the first mistake.
 */
export function checkNames(options: object, ownOptions: readonly string[]): void {
  checkIsNoRequest(options);
  const known = [...LIMIT_OPTIONS, ...SHARED_OPTIONS, ...PER_LIMIT_OPTIONS, ...CORE_OPTIONS, ...ownOptions];
  checkOptions(options, known, 'rateLimit');
  const given = options as Readonly<Record<string, unknown>>;
  if (given['limiter'] === undefined) return;
  for (const name of ['policy', 'limit', 'window', 'limits', ...CORE_OPTIONS]) {
    if (given[name] === undefined) continue;
    throw new PolicyError(
      name,
      `${name} belongs to the limiter that is given, got ${shown(given[name])} beside it; set it where that limiter is made`,
      'SLUICE_OPTION_INVALID',
    );
  }
}

/** The user's options about limits and keys, before it is checked which of them go together. */
interface GivenLimits<Request, Response> {
  policy?: PolicyOption<Request, Response> | undefined;
  limit?: number | undefined;
  window?: Duration | undefined;
  limits?: readonly HttpLimitOptions<Request, Response>[] | undefined;
  limiter?: unknown;
  key?: Key<Request, Response> | undefined;
  cost?: CostOption<Request, Response> | undefined;
  onMissingKey?: OnMissingKey | undefined;
}

/** The limits of each request, and those of a limiter over them; undefined if a function picks a policy. */
export interface ParsedLimits<Request, Response> {
  readonly httpLimits: readonly HttpLimit<Request, Response>[];
  readonly limits: LimiterLimits | undefined;
}

/**
 * Parses the options `policy`, `limit` and `window`, `limits` or `limiter`, and `key`, `cost` and `onMissingKey`.
 *
 * @throws PolicyError with the field, what was expected and what was given.
 */
export function parseLimits<Request, Response>(
  core: LimiterCore,
  given: GivenLimits<Request, Response>,
  reader: RequestReader<Request>,
): ParsedLimits<Request, Response> {
  if (given.limits !== undefined && given.limiter === undefined) return parseEntries(core, given, given.limits, reader);
  const limit = given.limiter === undefined ? limitOf(core, policyOption(given)) : handedIn(given.limiter).limit;
  const only = parseLimit(core.name, readPerLimitOptions(given), limit, reader, 'deny');
  return { httpLimits: [only], limits: typeof limit === 'function' ? undefined : limit };
}

/** Rejects a request or context in place of options: `rateLimit` was used as the handler itself. */
function checkIsNoRequest(options: unknown): void {
  if (typeof options !== 'object' || options === null || !('_events' in options || 'res' in options)) return;
  throw new PolicyError(
    'rateLimit',
    'rateLimit takes options and returns the handler, got a request; write rateLimit({ limit: 100, window: "1m" }) where it is used',
    'SLUICE_OPTION_INVALID',
  );
}

/**
 * The core and the limit of the option `limiter`.
 *
 * @throws PolicyError for a value that is not a limiter, or a limiter with several limits.
 */
export function handedIn(limiter: unknown): { readonly core: LimiterCore; readonly limit: LimitRef } {
  const parts = LimiterImpl.partsOf(limiter);
  if (parts === undefined) {
    throw new PolicyError(
      'limiter',
      `limiter must be made by createLimiter(), got ${shown(limiter)}`,
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

function parseEntries<Request, Response>(
  core: LimiterCore,
  given: GivenLimits<Request, Response>,
  entries: readonly HttpLimitOptions<Request, Response>[],
  reader: RequestReader<Request>,
): ParsedLimits<Request, Response> {
  if (!Array.isArray(entries) && typeof entries !== 'object') {
    throw new PolicyError(
      'limits',
      `limits must be a list of limits, got ${shown(entries)}; for one limit write limit`,
    );
  }
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
  const httpLimits = entries.map((entry, i) => {
    const limit = limits.get(entry.name) ?? limitOf(core, entry.policy);
    const where = `limits[${String(i)}].`;
    const own = readPerLimitOptions(entry.cost === undefined ? { ...entry, cost: given.cost } : entry, where);
    return parseLimit(entry.name, own, limit, reader, isOptionalKey(own.key) ? 'skip' : 'deny', where);
  });
  return { httpLimits, limits: limits.size === entries.length ? limits : undefined };
}

function parseLimit<Request, Response>(
  name: string,
  { key, cost, onMissingKey }: PerLimitSettings<Request, Response>,
  limit: HttpLimit<Request, Response>['limit'],
  reader: RequestReader<Request>,
  missing: OnMissingKey,
  where = '',
): HttpLimit<Request, Response> {
  return {
    name,
    readKey: keyFunction(key, reader, `${where}key`),
    address: addressForPreflights(key),
    cost,
    onMissingKey: onMissingKey ?? missing,
    expectsMissingKeys: onMissingKey !== undefined,
    limit,
  };
}

function policyOption<Request, Response>(given: GivenLimits<Request, Response>): PolicyOption<Request, Response> {
  if (typeof given.limit === 'function') {
    throw new PolicyError(
      'limit',
      'limit must be a number, got a function; where requests have limits of their own write policy: (request) => policy, with policies that were made before and have names',
    );
  }
  return givenPolicy(given, 'rateLimit', 'limits, or a limiter');
}

const MOST_REFERENCES = 1000;
/** The limit of a policy option. A policy that a function returns repeatedly is checked once. */
function limitOf<Request, Response>(
  core: LimiterCore,
  option: PolicyOption<Request, Response>,
): HttpLimit<Request, Response>['limit'] {
  if (typeof option !== 'function') return limitOfPolicy(core, option);
  const factory = makerName(option);
  if (factory !== undefined) {
    throw new PolicyError(
      'policy',
      `policy must be a policy, or a function of the request that returns one, got the function ${factory}, which was not called; write policy: ${factory}({ ... })`,
    );
  }
  const known = new WeakMap<object, LimitRef>();
  /** By name: a function may make a reference for every request. */
  const knownByName = new Map<string, LimitRef>();
  const limitOfPicked = (policy: unknown): LimitRef => {
    if (typeof policy !== 'object' || policy === null) {
      throw new PolicyError(
        'policy',
        `the policy function must return a policy or a list of policies, got ${shown(policy)}; use skip for requests without a limit`,
      );
    }
    let limit = isReference(policy) ? knownByName.get(policy.name) : known.get(policy);
    if (limit === undefined && isReference(policy)) {
      limit = limitOfPolicy(core, policy);
      if (knownByName.size >= MOST_REFERENCES) knownByName.clear(); // names may come from clients, without end
      knownByName.set(policy.name, limit);
    }
    if (limit === undefined) {
      for (const one of Array.isArray(policy) ? (policy as Policy[]) : [policy as Policy]) {
        if ((one as Partial<Policy> | null)?.name !== undefined) continue;
        throw new PolicyError(
          'policy.name',
          'a policy that a function returns needs a name, so that plans do not share what is used: make it once, ahead of the limiter, and write for example fixedWindow({ name: "free", limit: 10, window: "1m" })',
        );
      }
      limit = limitOfPolicy(core, policy);
      known.set(policy, limit);
    }
    return limit;
  };
  return (request, response) => mapMaybe<unknown, LimitRef>(option(request, response), limitOfPicked);
}
