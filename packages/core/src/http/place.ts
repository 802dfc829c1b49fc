import { PolicyError, shown } from '../errors.ts';
import { LimiterCore } from '../limiter/core.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { LimiterCoreOptions } from '../limiter/options.ts';
import { readPolicy, type Limit } from '../limiter/limits.ts';
import { readMark } from '../limiter/policy-function.ts';
import { readMaker } from '../policies/rule.ts';
import { listed } from '../values/hint.ts';
import { checkDistinct } from '../values/name.ts';
import { invalid } from '../values/shape.ts';
import type { AnyReader } from './framework.ts';
import {
  findPreflightAddress,
  makeAddressError,
  isOptionalKey,
  makeReadKey,
  readsAddress,
  type AddressReader,
  type ReadKey,
} from './keys/key-parts.ts';
import { mapMaybe } from './maybe.ts';
import {
  LIMITER_NAMES,
  readEntry,
  readHttpOptions,
  type HttpSettings,
  type LimitSettings,
  type OfRequest,
  type OnMissingKey,
} from './options.ts';

/** One limit of a place, with its options checked. */
export interface HttpLimit {
  readonly name: string;
  readonly readKey: ReadKey;
  /** Reads the key. */
  readonly reader: AnyReader;
  /** CORS preflights are counted by this; undefined if the key consists of more than address, route and method. */
  readonly address: AddressReader<object> | undefined;
  readonly readsAddressFirst: boolean;
  readonly cost: number | OfRequest<object, unknown, number>;
  readonly onMissingKey: OnMissingKey;
  /** Fixed, or chosen for each request. */
  readonly limit: Limit | OfRequest<object, unknown, Limit>;
}

/** A {@link Place}, or some of its limits. */
export type PlacedLimits = Pick<Place, 'core' | 'name' | 'settings' | 'limits' | 'hasOneKey' | 'paced'>;

/** The limits that one place of an application declares: the options of `rateLimit(options)`, checked and read. */
export class Place {
  readonly core: LimiterCore;
  readonly settings: HttpSettings;
  readonly limits: readonly HttpLimit[];
  /** Whether a request has one key, a string, rather than one per limit. */
  readonly hasOneKey: boolean;
  /** How many more requests may be held before they start. */
  readonly paced: { free: number };
  readonly #isHanded: boolean;

  /**
   * @param options - The user's options, unchecked.
   * @param ownOptions - Names of further options, which the adapter itself reads.
   * @throws PolicyError for bad or unknown options. {@link claim} takes the name, not the constructor.
   */
  constructor(options: object, reader: AnyReader, ownOptions: readonly string[] = []) {
    const given = Object(options) as object; // whatever it is
    if ('_events' in given || 'res' in given) {
      const what = 'rateLimit takes options and returns the handler, got a request or an application';
      const instead = 'write rateLimit({ limit: 100, window: "1m" }) where it is used';
      throw new PolicyError('rateLimit', `${what}; ${instead}`, 'SLUICE_OPTION_INVALID');
    }
    const settings = readHttpOptions(options, ownOptions);
    this.settings = settings;
    this.#isHanded = settings.limiter !== undefined;
    this.core = this.#isHanded ? readHanded(settings.limiter).core : makeCore(options, settings.mode);
    this.hasOneKey = settings.limits === undefined;
    this.limits = this.hasOneKey ? [readOneKey(this.core, settings, reader)] : readEntries(this.core, settings, reader);
    this.paced = { free: settings.maxPaced };
    const listing = (['allow', 'deny'] as const).find((list) => settings[list]?.hasAddresses === true);
    if (listing !== undefined && reader.noAddress !== undefined) throw makeAddressError(listing, reader.noAddress);
  }

  get name(): string {
    return this.core.name;
  }

  /** Claims the name on the store, after all checks. A limiter passed as `limiter` has it already. */
  claim(): this {
    if (!this.#isHanded) this.core.claim();
    return this;
  }

  /** Releases the name, and closes the limiter with its store, unless it was passed as `limiter`. */
  async close(): Promise<void> {
    if (!this.#isHanded) await this.core.close();
  }

  /**
   * The limiter with the same budgets.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then.
   */
  get limiter(): Limiter<never> {
    if (this.#isHanded) return this.core;
    const limits = this.limits.map(({ name, limit }): [string, Limit] => {
      if (typeof limit !== 'function') return [name, limit];
      const what =
        'there is no single limiter if a function chooses the policy; make one for each policy with createLimiter';
      throw new PolicyError('policy', what, 'SLUICE_OPTION_INVALID');
    });
    this.core.limits = this.hasOneKey ? (limits[0] as [string, Limit])[1] : new Map(limits);
    return this.core;
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
 * The core and the limit of a limiter passed as `limiter`.
 *
 * @throws PolicyError for a value that is not a limiter, or a limiter with several limits.
 */
export function readHanded(limiter: unknown): { readonly core: LimiterCore; readonly limit: Limit } {
  const { core, limit } = (limiter ?? {}) as { readonly core?: unknown; readonly limit?: Limit };
  if (core instanceof LimiterCore && limit !== undefined) return { core, limit }; // a rule of the service
  if (!(limiter instanceof LimiterCore)) throw invalid('limiter', 'made by createLimiter()', limiter);
  const { limits } = limiter;
  if (!(limits instanceof Map)) return { core: limiter, limit: limits as Limit };
  const what = `limiter must have a single key, got one with the limits ${listed([...limits.keys()].map(shown))}`;
  throw new PolicyError('limiter', `${what}; give rateLimit those limits, with their keys`, 'SLUICE_OPTION_INVALID');
}

function readOneKey(core: LimiterCore, settings: HttpSettings, reader: AnyReader): HttpLimit {
  if (settings.limiter !== undefined) return readLimit(core.name, settings, readHanded(settings.limiter).limit, reader);
  const policy = readPolicy(settings, 'rateLimit', 'limits, or a limiter');
  return readLimit(core.name, settings, readPolicyOption(core, policy), reader);
}

function readEntries(core: LimiterCore, { limits, cost }: HttpSettings, reader: AnyReader): readonly HttpLimit[] {
  if (!Array.isArray(limits) || limits.length === 0) {
    const example = '[{ name: "per-ip", policy: fixedWindow({ limit: 100, window: "1m" }), key: byIp() }]';
    throw new PolicyError('limits', `limits must be a list such as ${example}, got ${shown(limits)}`);
  }
  const read = limits.map((given: unknown, i) => {
    const where = `limits[${String(i)}]`;
    const entry = readEntry(given, where);
    const limit = readPolicyOption(core, entry.policy, entry.name, `${where}.policy`);
    return readLimit(entry.name, { ...entry, cost: entry.cost ?? cost }, limit, reader, `${where}.`);
  });
  const names = read.map(({ name }) => name);
  checkDistinct(names, 'limits.name');
  return read;
}

function readLimit(
  name: string,
  { key, cost = 1, onMissingKey }: LimitSettings,
  limit: HttpLimit['limit'],
  reader: AnyReader,
  where = '',
): HttpLimit {
  return {
    name,
    readKey: makeReadKey(key, reader, `${where}key`),
    reader,
    address: findPreflightAddress(key),
    readsAddressFirst: readsAddress(key[0]),
    cost,
    onMissingKey: onMissingKey ?? (where !== '' && isOptionalKey(key) ? 'skip' : 'deny'),
    limit,
  };
}

/**
 * Turns the option `policy` into a limit: a policy, a list, a function of the limiter, or a function of the request.
 */
function readPolicyOption(core: LimiterCore, option: unknown, entry?: string, field = 'policy'): HttpLimit['limit'] {
  const isOfRequest = typeof option === 'function' && readMark(option) === undefined && readMaker(option) === undefined;
  if (!isOfRequest) return core.limitFor(option, entry, field);
  const known = new WeakMap<object, Limit>();
  const limitFor = (policy: unknown): Limit => {
    const found = known.get(policy as object);
    if (found !== undefined) return found;
    if (typeof policy === 'function' && readMark(policy) === undefined && readMaker(policy) === undefined) {
      throw new PolicyError(field, 'the policy function must return a policy or a list of policies, got a function');
    }
    const limit = core.limitFor(policy, entry, field);
    if (limit.fixed?.some((counted) => counted.policy.name === undefined) === true) {
      throw new PolicyError(
        `${field}.name`,
        'a policy that a function returns needs a name, so that plans do not share counts: make it once, before the limiter, for example fixedWindow({ name: "free", limit: 10, window: "1m" })',
      );
    }
    known.set(policy as object, limit);
    return limit;
  };
  return (request, response) => mapMaybe((option as OfRequest<object, unknown, unknown>)(request, response), limitFor);
}
