import { parseDuration } from '../duration.ts';
import { PolicyError, shown, typeError } from '../errors.ts';
import { newHolder } from '../holder.ts';
import { encodeSubject } from '../key.ts';
import { CORE_OPTIONS } from '../core-options.ts';
import { checkCost } from '../cost.ts';
import { LimiterCore } from '../limiter-core.ts';
import { PlacedLimiter, type Limiter } from '../limiter.ts';
import { isByName } from '../limiter-limits.ts';
import { checkOptions } from '../options.ts';
import { namesOf, type AskedPart } from '../managed/resolve.ts';
import { askedLimits, handedIn, type AskedLimits } from './asked-limits.ts';
import { ClientList } from './client-list.ts';
import type { Framework } from './framework.ts';
import { fieldWriter, type FieldWriter } from './headers.ts';
import { HeldRequests } from './held-requests.ts';
import { HTTP_OPTIONS, type RateLimitOptions } from './options.ts';
import { forbiddenRefusal, missingKeyRefusal, type Refusal } from './problem.ts';
import { parseRefund, type Refund } from './refund.ts';
import { mayHoldSlots } from './slots.ts';

/** The key of a request by the name of its limit. */
export type FoundKeys = Readonly<Record<string, string>>;

/** What a layer wants to take for a request. */
export interface Asking<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly parts: readonly AskedPart[];
  readonly keys: FoundKeys;
}

/** No subject of a request looks like this: those that begin with `#` are hashed to more characters. */
const MISSING_SUBJECT = '#missing';

/**
 * The limits that one place of an application asks for: what `rateLimit(options)` was given there, checked and ready.
 * Several layers may be decided as one: see `Enforcer`.
 */
export class Layer<Request, Response> {
  readonly core: LimiterCore;
  readonly options: RateLimitOptions<Request, Response>;
  /** Whether it only reports. */
  readonly reports: boolean;
  readonly refund: Refund<Request, Response> | undefined;
  /** Those that wait for their start. */
  readonly held: HeldRequests;
  readonly writeFields: FieldWriter;
  /** What is told whoever is refused for want of a slot. */
  readonly slotRetryAfterMs: number | undefined;
  readonly #framework: Framework<Request, Response>;
  readonly #asked: AskedLimits<Request>;
  readonly #allow: ClientList | undefined;
  readonly #deny: ClientList | undefined;
  /** The requests that it has seen, and what it found. Written once for each: an entry is what costs. */
  readonly #seen: WeakMap<object, { keys: FoundKeys | undefined }>;
  readonly #origin: Layer<Request, Response> | undefined;
  #limiter: Limiter<never> | undefined;

  /**
   * @param options - What the user gave, unchecked. `ownOptions` names those of them that the adapter itself understands.
   * `origin` is for {@link variant}.
   * @throws PolicyError for bad or unknown options. A name is not taken before {@link claim}.
   */
  constructor(
    options: RateLimitOptions<Request, Response>,
    framework: Framework<Request, Response>,
    ownOptions: readonly string[] = [],
    origin?: Layer<Request, Response>,
  ) {
    if (origin === undefined) {
      checkOptions(options, [...HTTP_OPTIONS, ...CORE_OPTIONS, ...ownOptions], 'rateLimit');
      checkKinds(options);
    }
    this.#origin = origin;
    this.#seen = origin === undefined ? new WeakMap() : origin.#seen;
    this.reports = options.mode === 'report';
    this.core = origin?.core ?? coreOf(options, this.reports);
    this.#asked = askedLimits(this.core, options, framework);
    this.#allow = options.allow === undefined ? undefined : new ClientList(options.allow, 'allow');
    const deny = options.deny === undefined ? undefined : new ClientList(options.deny, 'deny');
    this.options = options;
    this.#deny = this.reports ? undefined : deny;
    const refund = origin === undefined ? parseRefund(options.refund) : origin.refund;
    // Who is never refused need not wait either.
    this.refund = refund !== undefined && this.reports ? { ...refund, holdMs: 0 } : refund;
    this.held = origin?.held ?? new HeldRequests(options.maxHeld);
    if (this.refund !== undefined && this.refund.holdMs > 0 && this.core.escalation !== undefined) {
      throw new PolicyError(
        'refund.holdMs',
        'refund.holdMs and escalate exclude each other: a request that is made to wait is refused many times over; leave one of them out',
        'SLUICE_OPTION_INVALID',
      );
    }
    this.slotRetryAfterMs =
      options.retryAfter === undefined
        ? undefined
        : parseDuration(options.retryAfter, 'retryAfter', 'SLUICE_OPTION_INVALID');
    this.writeFields = this.reports ? () => [] : fieldWriter(options.headers);
    this.#framework = framework;
  }

  get name(): string {
    return this.core.name;
  }

  /** The names of its policies or of its entries of `limits`; none where a function picks the policy. */
  get policyNames(): readonly string[] {
    const { limits } = this.#asked;
    if (this.options.limits !== undefined) return this.options.limits.map(({ name }) => name);
    return limits === undefined || isByName(limits) ? [] : namesOf(limits);
  }

  /** Takes its name on its store: when all else has been checked. A limiter that was handed in has it already. */
  claim(): this {
    if (this.options.limiter === undefined && this.#origin === undefined) this.core.claim();
    return this;
  }

  /**
   * The same limits for another place: read in another way, or without some entries of `limits`. Both count in the same
   * budgets, and what one of them has noticed, the other leaves alone.
   *
   * @param without - Names of entries; at least one entry stays.
   */
  variant({
    framework = this.#framework,
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
   * The limiter over the same budgets.
   *
   * @throws PolicyError where a function picks the policy, so that there is no one limiter.
   */
  get limiter(): Limiter<never> {
    if (this.options.limiter !== undefined) return this.options.limiter;
    if (this.#asked.limits === undefined) {
      throw new PolicyError(
        'policy',
        'there is no one limiter where a function picks the policy; make one with createLimiter for each policy',
        'SLUICE_OPTION_INVALID',
      );
    }
    return (this.#limiter ??= new PlacedLimiter<never>(this.core, this.#asked.limits));
  }

  /** Whether this layer has not seen the request before; from now on it has. */
  notices(request: object): boolean {
    if (this.#seen.has(request)) return false;
    this.#seen.set(request, { keys: undefined });
    return true;
  }

  /**
   * The request's key or, with several limits, its keys.
   *
   * @throws TypeError `SLUICE_KEY_INVALID` when it has none.
   */
  async keyFor(request: Request): Promise<string | FoundKeys> {
    const keys = this.#seen.get(this.#framework.rawRequest(request))?.keys ?? (await this.#readKeys(request));
    const key = this.hasOneKey ? keys[this.name] : keys;
    if (key !== undefined && Object.keys(keys).length > 0) return key;
    throw typeError('SLUICE_KEY_INVALID', `this request has no key to be counted by in ${this.name}`);
  }

  /** Whether a key is a string, and not one for each limit. */
  get hasOneKey(): boolean {
    return this.options.limits === undefined;
  }

  /** What to take for a request, or the answer that refuses it; undefined when it is not limited here. */
  async ask(request: Request): Promise<Asking<Request, Response> | Refusal | undefined> {
    const { skip } = this.options;
    let isAllowed = false;
    if (this.#deny !== undefined || this.#allow !== undefined) {
      const address = this.#framework.address(request);
      if (this.#deny?.hasAddress(address) === true) return forbiddenRefusal();
      isAllowed = this.#allow?.hasAddress(address) === true;
      if (isAllowed && this.#deny?.hasKeys !== true) return undefined;
    }
    if (skip !== undefined && (await skip(request))) return undefined;

    const parts: AskedPart[] = [];
    const keys: Record<string, string> = {};
    let isMissing = false;
    for (const limit of this.#asked.asked) {
      const pending = limit.readKey(request);
      const key = typeof pending === 'object' ? await pending : pending;
      if (key === undefined) {
        if (limit.onMissingKey === 'skip') continue;
        isMissing ||= limit.onMissingKey === 'deny';
      } else {
        if (this.#deny?.hasKey(key) === true) return forbiddenRefusal();
        keys[limit.name] = key;
        if (this.#allow?.hasKey(key) === true) continue; // of this limit: others may go by what anybody can write
      }
      if (isAllowed || isMissing) continue; // nothing is taken, but a later key may be one that is denied or allowed
      const cost = typeof limit.cost === 'function' ? await limit.cost(request) : limit.cost;
      checkCost(cost);
      if (cost === 0) continue;
      const subject = key === undefined ? MISSING_SUBJECT : encodeSubject(key);
      const found = limit.limitFor(request);
      const part = { limit: found instanceof Promise ? await found : found, subject, cost };
      parts.push(mayHoldSlots(part.limit) ? { ...part, holder: newHolder() } : part);
    }
    const seen = this.#seen.get(this.#framework.rawRequest(request));
    if (seen !== undefined) seen.keys = keys;
    if (isAllowed) return undefined;
    if (isMissing) return this.reports ? undefined : missingKeyRefusal();
    return parts.length === 0 ? undefined : { layer: this, parts, keys };
  }

  async #readKeys(request: Request): Promise<FoundKeys> {
    const keys: Record<string, string> = {};
    for (const { name, readKey } of this.#asked.asked) {
      const key = await readKey(request);
      if (key !== undefined) keys[name] = key;
    }
    return keys;
  }
}

function coreOf<Request, Response>(options: RateLimitOptions<Request, Response>, reports: boolean): LimiterCore {
  if (options.limiter !== undefined) return handedIn(options.limiter).core;
  // What only reports fails no request either: `onDecision` hears that the decision is unavailable.
  return new LimiterCore(reports && options.onStoreError === 'throw' ? { ...options, onStoreError: 'allow' } : options);
}

function checkKinds(options: object): void {
  const given = options as Readonly<Record<string, unknown>>;
  const check = (names: readonly string[], is: (value: unknown) => boolean, expected: string): void => {
    for (const name of names) {
      if (given[name] === undefined || is(given[name])) continue;
      throw new PolicyError(name, `${name} must be ${expected}, got ${shown(given[name])}`, 'SLUICE_OPTION_INVALID');
    }
  };
  check(['skip', 'onDenied', 'onDecision'], (value) => typeof value === 'function', 'a function');
  check(['throw', 'cors'], (value) => typeof value === 'boolean', 'true or false');
  check(['mode'], (value) => value === 'enforce' || value === 'report', '"enforce" or "report"');
  if (given['limiter'] === undefined) return;
  for (const name of ['policy', 'limit', 'window', 'limits', ...CORE_OPTIONS]) {
    if (given[name] === undefined) continue;
    throw new PolicyError(
      name,
      `${name} belongs to the limiter that is given, got ${shown(given[name])} beside it; say it where that one is made`,
      'SLUICE_OPTION_INVALID',
    );
  }
}
