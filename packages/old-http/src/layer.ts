import { PolicyError, type Limiter } from '@sluice/old-core';
import {
  typeError,
  LimiterCore,
  LimiterImpl,
  isByName,
  mayHoldSlots,
  mayPace,
  namesOf,
  type LimitRef,
} from '@sluice/old-core/spi';
import { checkNames, handedIn, parseLimits, type HttpLimit, type ParsedLimits } from './http-limits.ts';
import type { ClientList } from './keys/client-list.ts';
import type { Framework } from './framework.ts';
import type { FieldWriter } from './response/headers.ts';
import { PacedRequests } from './paced-requests.ts';
import { addressMissing, beginsWithAddress, isForAll } from './keys/key-parts.ts';
import type { RateLimitOptions } from './option-types.ts';
import { readSharedOptions, type HttpSettings } from './options.ts';
import {
  NO_KEYS,
  firstMark,
  privateFieldMarks,
  markOf,
  type FoundKeys,
  type RequestMark,
  type RequestMarks,
} from './request-marks.ts';

/** The clients that a layer always allows or denies. */
interface ClientLists {
  readonly allow: ClientList | undefined;
  readonly deny: ClientList | undefined;
}

/**
 * The limits that one place of an application declares: the options of `rateLimit(options)`, checked and parsed. An
 * `Enforcer` decides several layers together.
 */
export class Layer<Request, Response> {
  readonly core: LimiterCore;
  /** The options as they were given. */
  readonly options: RateLimitOptions<Request, Response>;
  /** The options about requests and responses, checked, with their defaults. */
  readonly settings: HttpSettings<Request, Response>;
  readonly framework: Framework<Request, Response>;
  /** Whether it only reports. */
  readonly reports: boolean;
  /** The clients that the options `allow` and `deny` name. A layer that only reports denies none. */
  readonly lists: ClientLists;
  /** Requests that wait until they may start. */
  readonly pacedRequests: PacedRequests;
  readonly writeFields: FieldWriter;
  /** Whether it reads the client's address before its first await. */
  readonly readsAddressFirst: boolean;
  /** The limits of each request. */
  readonly limits: readonly HttpLimit<Request, Response>[];
  /** Whether the key of a request is a string, and not one for each limit. */
  readonly hasOneKey: boolean;
  readonly #marks: RequestMarks;
  readonly #parsed: ParsedLimits<Request, Response>;
  /** The layer of which this is a variant, or itself. All variants share their marks of requests. */
  readonly #root: Layer<Request, Response>;
  #limiter: Limiter<never> | undefined;

  /**
   * @param options - The user's options, unchecked.
   * @param ownOptions - Names of further options, which the adapter itself reads.
   * @param origin - Only for {@link variant}.
   * @throws PolicyError for bad or unknown options. {@link claim} takes the name, not the constructor.
   */
  constructor(
    options: RateLimitOptions<Request, Response>,
    framework: Framework<Request, Response>,
    ownOptions: readonly string[] = [],
    origin?: Layer<Request, Response>,
  ) {
    if (origin === undefined) checkNames(options, ownOptions);
    this.#root = origin === undefined ? this : origin.#root;
    this.options = options;
    this.settings = origin?.settings ?? readSharedOptions(options);
    const { allow, deny, skip, headers, maxPaced } = this.settings;
    this.reports = this.settings.mode === 'report';
    this.core = origin?.core ?? coreOf(options, this.reports);
    this.#parsed = parseLimits(this.core, options, framework);
    this.limits = this.#parsed.httpLimits;
    this.hasOneKey = options.limits === undefined;
    const { limits: entries = [options] } = options;
    const isOneLine = entries.every(({ key }) => isForAll(key));
    this.pacedRequests = origin?.pacedRequests ?? new PacedRequests(maxPaced, isOneLine);
    this.writeFields = this.reports ? () => [] : headers;
    this.framework = framework;
    this.#marks = framework.marks ?? privateFieldMarks;
    const isListed = allow !== undefined || (deny !== undefined && !this.reports);
    this.readsAddressFirst = isListed || (skip === undefined && beginsWithAddress(entries[0]?.key));
    const needsAddress = allow?.hasAddresses === true ? 'allow' : deny?.hasAddresses === true ? 'deny' : undefined;
    if (needsAddress !== undefined && framework.noAddress !== undefined) {
      throw addressMissing(needsAddress, framework.noAddress);
    }
    this.lists = { allow, deny: this.reports ? undefined : deny };
  }

  get name(): string {
    return this.core.name;
  }

  /** Whether a request may wait in it, or something waits for the end of its response: pacing, slots and refunds. */
  get followsRequests(): boolean {
    if (this.settings.refund !== undefined) return true;
    return this.limits.some(({ limit }) => typeof limit === 'function' || mayHoldSlots(limit) || mayPace(limit));
  }

  /** The names of its policies or of its entries of `limits`; empty if a function picks the policy. */
  get policyNames(): readonly string[] {
    const { limits } = this.#parsed;
    if (this.options.limits !== undefined) return this.options.limits.map(({ name }) => name);
    return limits === undefined || isByName(limits) ? [] : namesOf(limits);
  }

  /** Takes the name on the store, after all checks. A limiter of the option `limiter` has it already. */
  claim(): this {
    if (this.options.limiter === undefined && this.#root === this) this.core.claim();
    return this;
  }

  /**
   * The same limits for another place: with another framework, or without some entries of `limits`. Both count in the
   * same budgets, and a request that one has seen is ignored by the other.
   *
   * @param without - Names of entries to leave out; at least one entry stays.
   */
  variant({
    framework = this.framework,
    without = [],
  }: {
    readonly framework?: Framework<Request, Response>;
    readonly without?: readonly string[];
  }): Layer<Request, Response> {
    const limits = this.options.limits?.filter(({ name }) => !without.includes(name));
    const options = (limits === undefined ? this.options : { ...this.options, limits }) as typeof this.options;
    return new Layer(options, framework, [], this);
  }

  /**
   * The limiter of the same budgets.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then.
   */
  get limiter(): Limiter<never> {
    if (this.options.limiter !== undefined) return this.options.limiter;
    if (this.#parsed.limits === undefined) {
      throw new PolicyError(
        'policy',
        'there is no single limiter when a function picks the policy; make one per policy with createLimiter, or use await limiterFor(request)',
        'SLUICE_OPTION_INVALID',
      );
    }
    return (this.#limiter ??= new LimiterImpl<never>(this.core, this.#parsed.limits));
  }

  /**
   * The limiter of a request's budgets. Where a function picks the policy, it is asked again.
   *
   * @throws (rejects) errors of that function, and PolicyError for its bad policy.
   */
  async limiterFor(request: Request): Promise<Limiter<never>> {
    if (this.options.limiter !== undefined || this.#parsed.limits !== undefined) return this.limiter;
    const limits = new Map<string, LimitRef>();
    for (const { name, limit } of this.limits) {
      limits.set(name, typeof limit === 'function' ? await limit(request, undefined) : limit);
    }
    const [only] = limits.values();
    return new LimiterImpl<never>(this.core, this.hasOneKey && only !== undefined ? only : limits);
  }

  /** Marks a request as seen by this layer. Undefined when the layer has seen it before. */
  markOnce(request: object): RequestMark | undefined {
    return firstMark(this.#marks, request, this.#root);
  }

  /**
   * The request's key or, with several limits, its keys.
   *
   * @throws TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  async keyFor(request: Request): Promise<FoundKeys> {
    const mark = markOf(this.#marks, this.framework.rawRequest(request), this.#root);
    const keys = mark?.keys ?? (await this.#readKeys(request));
    if (typeof keys === 'string' || (!this.hasOneKey && Object.keys(keys).length > 0)) return keys;
    throw typeError('SLUICE_KEY_INVALID', `the request has no key for the limiter ${this.name}`);
  }

  async #readKeys(request: Request): Promise<FoundKeys> {
    const keys: Record<string, string> = {};
    for (const { name, readKey } of this.limits) {
      const key = await readKey(request);
      if (key !== undefined) keys[name] = key;
    }
    return this.hasOneKey ? (keys[this.name] ?? NO_KEYS) : keys;
  }
}

function coreOf<Request, Response>(options: RateLimitOptions<Request, Response>, reports: boolean): LimiterCore {
  if (options.limiter !== undefined) return handedIn(options.limiter).core;
  // A layer that only reports fails no request: `onDecision` gets the outcome `unavailable` instead.
  return new LimiterCore(reports && options.onStoreError === 'throw' ? { ...options, onStoreError: 'allow' } : options);
}
