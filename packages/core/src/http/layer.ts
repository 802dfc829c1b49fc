import { parseDuration } from '../duration.ts';
import { PolicyError, shown, typeError } from '../errors.ts';
import { CORE_OPTIONS } from '../core-options.ts';
import { LimiterCore } from '../limiter-core.ts';
import { PlacedLimiter, type Limiter } from '../limiter.ts';
import { isByName } from '../limiter-limits.ts';
import { checkOptions } from '../options.ts';
import { namesOf } from '../managed/resolve.ts';
import { askedLimits, handedIn, type AskedLimits } from './asked-limits.ts';
import { Asker, type Asked } from './asker.ts';
import { ClientList } from './client-list.ts';
import type { Framework } from './framework.ts';
import { fieldWriter, type FieldWriter } from './headers.ts';
import { HeldRequests } from './held-requests.ts';
import { beginsWithAddress } from './keys/key-parts.ts';
import { HTTP_OPTIONS, type RateLimitOptions } from './options.ts';
import { parseRefund, type Refund } from './refund.ts';
import { NO_KEYS, firstSighting, onRequests, sightingOf } from './sighting.ts';
import type { FoundKeys, Sighting, Sightings } from './sighting.ts';

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
  /** Whether it reads the client's address before anything that it may have to wait for. */
  readonly readsAddressFirst: boolean;
  readonly #framework: Framework<Request, Response>;
  readonly #sightings: Sightings;
  readonly #asked: AskedLimits<Request>;
  readonly #asker: Asker<Request, Response>;
  /** What this is a variant of, or itself: they see requests as one. */
  readonly #root: Layer<Request, Response>;
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
    this.#root = origin === undefined ? this : origin.#root;
    this.reports = options.mode === 'report';
    this.core = origin?.core ?? coreOf(options, this.reports);
    this.#asked = askedLimits(this.core, options, framework);
    const allow = options.allow === undefined ? undefined : new ClientList(options.allow, 'allow');
    const deny = options.deny === undefined ? undefined : new ClientList(options.deny, 'deny');
    this.options = options;
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
    this.#sightings = framework.sightings ?? onRequests;
    const [first = options] = options.limits ?? [];
    const isListed = allow !== undefined || (deny !== undefined && !this.reports);
    this.readsAddressFirst = isListed || (options.skip === undefined && beginsWithAddress(first.key));
    this.#asker = new Asker(this, this.#asked.asked, framework, { allow, deny: this.reports ? undefined : deny });
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
    if (this.options.limiter === undefined && this.#root === this) this.core.claim();
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

  /** Says that this layer sees a request now. Undefined when it has seen it before. */
  notices(request: object): Sighting | undefined {
    return firstSighting(this.#sightings, request, this.#root);
  }

  /**
   * The request's key or, with several limits, its keys.
   *
   * @throws TypeError `SLUICE_KEY_INVALID` when it has none.
   */
  async keyFor(request: Request): Promise<FoundKeys> {
    const sighting = sightingOf(this.#sightings, this.#framework.rawRequest(request), this.#root);
    const keys = sighting?.keys ?? (await this.#readKeys(request));
    if (typeof keys === 'string' || (!this.hasOneKey && Object.keys(keys).length > 0)) return keys;
    throw typeError('SLUICE_KEY_INVALID', `this request has no key to be counted by in ${this.name}`);
  }

  /** Whether a key is a string, and not one for each limit. */
  get hasOneKey(): boolean {
    return this.options.limits === undefined;
  }

  /** What to take for a request, or the answer that refuses it; undefined when it is not limited here. */
  ask(request: Request, sighting: Sighting): Asked<Request, Response> | Promise<Asked<Request, Response>> {
    return this.#asker.ask(request, sighting);
  }

  async #readKeys(request: Request): Promise<FoundKeys> {
    const keys: Record<string, string> = {};
    for (const { name, readKey } of this.#asked.asked) {
      const key = await readKey(request);
      if (key !== undefined) keys[name] = key;
    }
    return this.hasOneKey ? (keys[this.name] ?? NO_KEYS) : keys;
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
