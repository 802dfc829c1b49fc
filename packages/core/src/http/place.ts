import { PolicyError, shown } from '../errors.ts';
import { LimiterCore } from '../limiter/core.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { LimiterCoreOptions } from '../limiter/options.ts';
import { readPolicy, type Limit, type Want } from '../limiter/limits.ts';
import { readMark } from '../limiter/policy-function.ts';
import { MAKERS } from '../policies/index.ts';
import { listed } from '../values/hint.ts';
import { checkDistinct, parseName } from '../values/name.ts';
import { checkNames, invalid, readOptions, type Reader } from '../values/shape.ts';
import type { RequestReader } from './framework.ts';
import { addressForPreflights, addressMissing, isForAll, readsAddress, type AddressReader } from './keys/key-parts.ts';
import { isOptionalKey, keyFunction, type ReadKey } from './keys/read-key.ts';
import { mapMaybe } from './maybe.ts';
import {
  LIMITER_NAMES,
  OPTION_NAMES,
  readPerLimitOptions,
  readSharedOptions,
  type HttpLimitOptions,
  type HttpSettings,
  type OfRequest,
  type OnMissingKey,
  type RateLimitOptions,
} from './options.ts';
import { PacedRequests } from './lifecycle/paced-requests.ts';

/** One limit of each request, with its options read. */
export interface HttpLimit<Request, Response> {
  readonly name: string;
  readonly readKey: ReadKey<Request, Response>;
  /** By which CORS preflights count; undefined if the key is made of more than address, route and method. */
  readonly address: AddressReader<Request> | undefined;
  readonly readsAddressFirst: boolean;
  readonly cost: number | OfRequest<Request, Response, number>;
  readonly onMissingKey: OnMissingKey;
  /** Whether the user has said what a missing key means, so that a denied request is no mistake. */
  readonly expectsMissingKeys: boolean;
  /** The same for all requests, or picked for each request. */
  readonly limit: Limit | PickLimit<Request, Response>;
}

type PickLimit<Request, Response> = OfRequest<Request, Response, Limit>;

/** A {@link Place}, or some of its limits. */
export type PlacedLimits<Request, Response> = Pick<
  Place<Request, Response>,
  'core' | 'name' | 'settings' | 'limits' | 'hasOneKey' | 'paced'
>;

/** What a request wants, and the settings of the place that it wants it of. */
export interface PlacedWant<Request, Response> extends Want {
  readonly settings: HttpSettings<Request, Response>;
}

/** The limits that one place of an application declares: the options of `rateLimit(options)`, checked and read. */
export class Place<Request, Response> {
  readonly core: LimiterCore;
  readonly settings: HttpSettings<Request, Response>;
  readonly limits: readonly HttpLimit<Request, Response>[];
  /** Whether the key of a request is a string, and not one for each limit. */
  readonly hasOneKey: boolean;
  readonly paced: PacedRequests;
  readonly #options: RateLimitOptions<Request, Response>;
  #limiter: Limiter<never> | undefined;

  /**
   * @param options - The user's options, unchecked.
   * @param ownOptions - Names of further options, which the adapter itself reads.
   * @throws PolicyError for bad or unknown options. {@link claim} takes the name, not the constructor.
   */
  constructor(
    options: RateLimitOptions<Request, Response>,
    reader: RequestReader<Request>,
    ownOptions: readonly string[] = [],
  ) {
    checkOptions(options, ownOptions);
    this.#options = options;
    this.settings = readSharedOptions(options);
    const { allow, deny, mode, maxPaced } = this.settings;
    this.core = options.limiter === undefined ? makeCore(options, mode) : readHanded(options.limiter).core;
    this.hasOneKey = options.limits === undefined;
    this.limits = readHttpLimits(this.core, options, reader);
    const keys = options.limits?.map(({ key }) => key) ?? [options.key];
    this.paced = new PacedRequests(maxPaced, keys.every(isForAll));
    const listed = allow?.hasAddresses === true ? 'allow' : deny?.hasAddresses === true ? 'deny' : undefined;
    if (listed !== undefined && reader.noAddress !== undefined) throw addressMissing(listed, reader.noAddress);
  }

  get name(): string {
    return this.core.name;
  }

  /** Takes the name on the store, after all checks. A limiter of the option `limiter` has it already. */
  claim(): this {
    if (this.#options.limiter === undefined) this.core.claim();
    return this;
  }

  /** Releases the name, and closes the limiter with its store; not a limiter of the option `limiter`. */
  async close(): Promise<void> {
    if (this.#options.limiter === undefined) await this.core.close();
  }

  /**
   * The limiter of the same budgets.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then.
   */
  get limiter(): Limiter<never> {
    if (this.#options.limiter !== undefined) return this.#options.limiter;
    this.core.limits = this.#fixedLimits();
    return (this.#limiter = this.core);
  }

  #fixedLimits(): Limit | ReadonlyMap<string, Limit> {
    const limits = this.limits.map(({ name, limit }): [string, Limit] => {
      if (typeof limit !== 'function') return [name, limit];
      throw new PolicyError(
        'policy',
        'there is no single limiter if a function picks the policy; make one per policy with createLimiter',
        'SLUICE_OPTION_INVALID',
      );
    });
    const [only] = limits;
    return this.hasOneKey && only !== undefined ? only[1] : new Map(limits);
  }
}

/** A limiter that only reports fails no request: `onDecision` gets the outcome `unavailable` instead. */
function makeCore(options: object, mode: 'enforce' | 'report'): LimiterCore {
  const own = Object.entries(options).filter(([name]) => LIMITER_NAMES.includes(name));
  const settings = Object.fromEntries(own) as LimiterCoreOptions;
  if (mode === 'report' && settings.onStoreError === 'throw') settings.onStoreError = 'allow';
  return new LimiterCore(settings);
}

/**
 * Checks that all options exist, and that none contradicts a `limiter`.
 *
 * @throws PolicyError for the first mistake.
 */
function checkOptions(options: object, ownOptions: readonly string[]): void {
  if (typeof options === 'object' && ('_events' in options || 'res' in options)) {
    throw new PolicyError(
      'rateLimit',
      'rateLimit takes options and returns the handler, got a request; write rateLimit({ limit: 100, window: "1m" }) where it is used',
      'SLUICE_OPTION_INVALID',
    );
  }
  checkNames(options, [...OPTION_NAMES, ...ownOptions], 'rateLimit');
  const given = options;
  const forbid = (names: readonly string[], where: string, instead: string): void => {
    for (const name of names) {
      if (given[name] === undefined) continue;
      const told = `${name} cannot be combined with ${where}, got ${shown(given[name])}; ${instead}`;
      throw new PolicyError(name, told, 'SLUICE_OPTION_INVALID');
    }
  };
  if (given['limiter'] !== undefined) {
    const names = ['policy', 'limit', 'window', 'limits', ...LIMITER_NAMES];
    forbid(names, 'limiter', 'set it in the createLimiter() call instead');
  } else if (given['limits'] !== undefined) {
    const names = ['policy', 'limit', 'window', 'key', 'onMissingKey'];
    forbid(names, 'limits', 'write it into the entries of limits instead');
  }
}

/**
 * The core and the limit of the option `limiter`.
 *
 * @throws PolicyError for a value that is not a limiter, or a limiter with several limits.
 */
export function readHanded(limiter: unknown): { readonly core: LimiterCore; readonly limit: Limit } {
  if (!(limiter instanceof LimiterCore)) throw invalid('limiter', 'made by createLimiter()', limiter);
  const { limits } = limiter;
  if (!(limits instanceof Map)) return { core: limiter, limit: limits as Limit };
  throw new PolicyError(
    'limiter',
    `limiter must be one with a single key, got one with the limits ${listed([...limits.keys()])}; give rateLimit those limits, with their keys`,
    'SLUICE_OPTION_INVALID',
  );
}

const asGiven: Reader<unknown> = (given) => given;
const ENTRY = { name: parseName, policy: asGiven, key: asGiven, cost: asGiven, onMissingKey: asGiven };

function readHttpLimits<Request, Response>(
  core: LimiterCore,
  options: RateLimitOptions<Request, Response>,
  reader: RequestReader<Request>,
): readonly HttpLimit<Request, Response>[] {
  if (options.limits === undefined) {
    const limit =
      options.limiter === undefined
        ? readPolicyOption(core, readOwnPolicy(options))
        : readHanded(options.limiter).limit;
    return [readHttpLimit(core.name, options, limit, reader)];
  }
  const entries: unknown = options.limits;
  if (!Array.isArray(entries) || entries.length === 0) {
    const example = '[{ name: "per-ip", policy: fixedWindow({ limit: 100, window: "1m" }), key: byIp() }]';
    throw new PolicyError('limits', `limits must be a list such as ${example}, got ${shown(entries)}`);
  }
  const limits = entries.map((given: HttpLimitOptions<Request, Response>, i) => {
    const where = `limits[${String(i)}]`;
    const { name, policy } = readOptions(given, ENTRY, where, 'SLUICE_OPTION_INVALID', `${where}.`);
    const own = given.cost === undefined && options.cost !== undefined ? { ...given, cost: options.cost } : given;
    return readHttpLimit(name, own, readPolicyOption(core, policy, name, `${where}.policy`), reader, `${where}.`);
  });
  checkDistinct(
    limits.map(({ name }) => name),
    'limits.name',
  );
  return limits;
}

function readHttpLimit<Request, Response>(
  name: string,
  options: object,
  limit: HttpLimit<Request, Response>['limit'],
  reader: RequestReader<Request>,
  where = '',
): HttpLimit<Request, Response> {
  const { key, cost, onMissingKey } = readPerLimitOptions<Request, Response>(options, where);
  const whenMissing = where !== '' && isOptionalKey(key) ? 'skip' : 'deny';
  return {
    name,
    readKey: keyFunction(key, reader, `${where}key`),
    address: addressForPreflights(key),
    readsAddressFirst: readsAddress(key[0]),
    cost,
    onMissingKey: onMissingKey ?? whenMissing,
    expectsMissingKeys: onMissingKey !== undefined,
    limit,
  };
}

function readOwnPolicy(options: {
  readonly policy?: unknown;
  readonly limit?: unknown;
  readonly window?: unknown;
}): unknown {
  if (typeof options.limit !== 'function') return readPolicy(options, 'rateLimit', 'limits, or a limiter');
  throw new PolicyError(
    'limit',
    'limit must be a number, got a function; if requests have limits of their own write policy: (request) => policy, with policies that were made before and have names',
  );
}

/** The limit of a policy option: a policy, a list, a function of the limiter, or a function of the request. */
function readPolicyOption<Request, Response>(
  core: LimiterCore,
  option: unknown,
  entry?: string,
  field = 'policy',
): HttpLimit<Request, Response>['limit'] {
  if (typeof option !== 'function' || readMark(option) !== undefined) return core.limitFor(option, entry, field);
  const maker = Object.entries(MAKERS).find(([, make]) => make === option)?.[0];
  if (maker !== undefined) {
    throw new PolicyError(
      field,
      `${field} must be a policy, or a function of the request that returns one, got the function ${maker}, which was not called; write policy: ${maker}({ ... })`,
    );
  }
  const pick = option as OfRequest<Request, Response, unknown>;
  const known = new WeakMap<object, Limit>();
  const limitFor = (policy: unknown): Limit => {
    if ((typeof policy !== 'object' && readMark(policy) === undefined) || policy === null) {
      throw new PolicyError(
        field,
        `the policy function must return a policy or a list of policies, got ${shown(policy)}; use skip for requests without a limit`,
      );
    }
    const found = known.get(policy as object);
    if (found !== undefined) return found;
    const named =
      typeof policy === 'function' ||
      [policy].flat().every((one) => (one as { name?: unknown } | null)?.name !== undefined);
    if (!named) {
      throw new PolicyError(
        `${field}.name`,
        'a policy that a function returns needs a name, so that plans do not share what is used: make it once, ahead of the limiter, and write for example fixedWindow({ name: "free", limit: 10, window: "1m" })',
      );
    }
    const limit = core.limitFor(policy, entry, field);
    known.set(policy as object, limit);
    return limit;
  };
  return (request, response) => mapMaybe(pick(request, response), limitFor);
}
