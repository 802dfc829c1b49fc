import { messageOf, PolicyError, shown, typeError } from '../errors.ts';
import { warnOnce } from '../warnings.ts';
import { checkCost } from '../values/cost.ts';
import { checkDistinct } from '../values/name.ts';
import { readSubject } from '../values/key.ts';
import type { LimiterCore } from '../limiter/core.ts';
import type { DecideOptions } from '../limiter/host.ts';
import type { Decision } from '../limiter/decision.ts';
import { newHolder } from '../limiter/holder.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { Limit, Want } from '../limiter/limits.ts';
import type { OnStoreError } from '../limiter/options.ts';
import { warnOfProxies } from './diagnostics.ts';
import { asError, type AnyFramework, type AnyReader } from './framework.ts';
import { warnOfMissingKey } from './keys/read-key.ts';
import { decidePaced } from './lifecycle/pacing.ts';
import { refundOnResponse } from './lifecycle/refund.ts';
import { holdUntilClosed } from './lifecycle/slots.ts';
import { mapMaybe, type MaybePromise } from './maybe.ts';
import type { HttpSettings } from './options.ts';
import { findCall, GONE, LATEST, PASS, type Call, type FoundKeys, type Locals, type Plan } from './plan.ts';
import type { HttpLimit, Place, PlacedLimits } from './place.ts';
import { isPreflight, readPreflightBudgets } from './preflights.ts';
import { respond } from './respond.ts';
import { denialFor, forbiddenDenial, missingKeyDenial, type Denial } from './response/denial.ts';

/** What happens to a request from a step on. */
type Way = (call: Call) => MaybePromise<Plan>;

/** The first requests are all looked at for mistakes in the settings of proxies, later ones from time to time. */
const FIRST_REQUESTS = 128;
/** The subject of all requests without a key. No key of a caller has it: one that begins with `#` is hashed. */
const MISSING = '#missing';

/**
 * Decides about the requests of a framework. The options become a chain of steps, once, each of which calls the next
 * one: the lists of clients, `skip`, and each limit's key, cost and policy; then one decision over everything that is
 * wanted. It is synchronous as long as the store and the functions of the user are.
 */
export class RequestLimiter {
  /** Those of the innermost place. */
  readonly settings: HttpSettings;
  /** Whether anything may wait for the end of a response, or for its client to leave. */
  readonly followsResponses: boolean;
  readonly #framework: AnyReader;
  readonly #places: readonly PlacedLimits[];
  readonly #nearest: PlacedLimits;
  readonly #core: LimiterCore;
  readonly #way: Way;
  readonly #preflight: ((call: Call) => MaybePromise<Plan>) | undefined;
  readonly #reports: boolean;
  readonly #refunds: boolean;
  /** While the store fails, a request gets no more than each of several places allows. */
  readonly #onStoreError: OnStoreError | undefined;
  readonly #paces: boolean;
  readonly #holds: boolean;
  /** Whether the key of a request is a string, and not one for each limit. */
  readonly #hasOneKey: boolean;
  #requests = 0;

  /**
   * @param places - Those whose limits are decided together, the outermost first. The settings of the innermost one that
   * limits a request apply to it. All have one `mode`.
   * @param framework - A whole `Framework` for {@link limit}; its reading half is enough for {@link plan}.
   * @throws PolicyError if two limits have the same name, or their stores differ.
   */
  constructor(places: readonly PlacedLimits[], framework: AnyReader) {
    const nearest = places.at(-1) as PlacedLimits;
    const limits = places.flatMap((place) => place.limits);
    const { preflights, mode } = nearest.settings;
    this.settings = nearest.settings;
    this.#framework = framework;
    this.#places = places;
    this.#nearest = nearest;
    this.#core = nearest.core;
    this.#reports = mode === 'report';
    if (preflights === 'skip' || (preflights === 'separate' && this.#reports)) this.#preflight = () => PASS;
    else if (preflights === 'separate') this.#preflight = this.#preflightBy(readPreflightBudgets(places, framework));
    this.#refunds = places.some(({ settings }) => settings.refund !== undefined);
    this.#paces = !this.#reports && limits.some(({ limit }) => may(limit, 'mayPace'));
    this.#holds = limits.some(({ limit }) => may(limit, 'mayHold'));
    this.followsResponses = this.#paces || this.#holds || this.#refunds;
    this.#hasOneKey = places.length === 1 && nearest.hasOneKey;
    if (places.length > 1) {
      checkTogether(places);
      this.#onStoreError = STRICTNESS.findLast((one) => places.some(({ core }) => core.onStoreError === one));
    }
    this.#way = places.reduceRight<Way>((next, place) => wayThrough(place, framework, next), this.#ask.bind(this));
  }

  /**
   * The limiter of a whole place.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then.
   */
  get limiter(): Limiter<never> {
    return (this.#nearest as Place).limiter;
  }

  /** Closes a whole place. */
  async close(): Promise<void> {
    await (this.#nearest as Place).close();
  }

  /** Decides, and writes nothing to the response. The request counts once, however often it comes. */
  plan(request: object, response: unknown): MaybePromise<Plan> {
    const framework = this.#framework;
    const locals: Locals = framework.locals(request, response);
    const before = locals[LATEST];
    if (before !== undefined && findCall(before, this) !== undefined) return PASS;
    const call: Call = {
      by: this,
      before,
      request,
      response,
      argument: framework.argument === undefined ? response : framework.argument(response),
      wants: [],
      found: this.#hasOneKey ? undefined : {},
      keys: undefined,
      refunds: this.#refunds ? new Map() : undefined,
      settings: this.settings,
      waitedMs: 0,
      info: undefined,
    };
    locals[LATEST] = call;
    if (this.#preflight !== undefined && framework.method(request) === 'OPTIONS' && isPreflight(framework, request)) {
      return this.#preflight(call);
    }
    const number = this.#requests++;
    if (number < FIRST_REQUESTS || number % 64 === 0) warnOfProxies(framework, request, number === 0);
    return this.#reports ? this.#report(call) : this.#way(call);
  }

  /**
   * Decides, writes the header fields, and sends the response if the request is denied.
   *
   * @returns Whether the request continues. Not a promise, if the store and the functions of the user are
   * synchronous.
   * @throws (or rejects with) errors of the user's functions; StoreError, with `onStoreError: 'throw'`;
   * RateLimitError for a denial, with `throw: true`.
   */
  limit(request: object, response: unknown): MaybePromise<boolean> {
    const plan = this.plan(request, response);
    const framework = this.#framework as AnyFramework;
    return plan instanceof Promise
      ? plan.then((late) => respond(framework, late, request, response))
      : respond(framework, plan, request, response);
  }

  /**
   * As {@link limit}, for a framework with a callback: calls it if the request continues, or with the error; never
   * after a response. Does not catch what the callback throws.
   */
  limitThen(request: object, response: unknown, next: (error?: unknown) => void): void {
    let passes: MaybePromise<boolean>;
    try {
      passes = this.limit(request, response);
    } catch (error) {
      next(asError(error));
      return;
    }
    if (passes === true) next();
    else if (passes !== false) {
      passes.then(
        (late) => {
          if (late) next();
        },
        (error: unknown) => {
          next(asError(error));
        },
      );
    }
  }

  /**
   * The request's key or, with several limits, its keys by limit.
   *
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  async keyFor(request: object): Promise<FoundKeys> {
    const keys =
      findCall((this.#framework.locals(request) as Locals)[LATEST], this)?.keys ?? (await this.#readKeys(request));
    if (typeof keys === 'string' ? keys !== '' : Object.keys(keys).length > 0) return keys;
    throw typeError('SLUICE_KEY_INVALID', `the request has no key for the limiter ${this.#core.name}`);
  }

  async #readKeys(request: object): Promise<FoundKeys> {
    const keys: Record<string, string> = {};
    for (const { name, readKey, reader } of this.#places.flatMap(({ limits }) => limits)) {
      const key = await readKey(request, reader);
      if (key !== undefined) keys[name] = key;
    }
    return this.#hasOneKey ? (keys[this.#core.name] ?? '') : keys;
  }

  /** Decides as otherwise. The request continues, and what fails is warned of. */
  #report(call: Call): MaybePromise<Plan> {
    const pass = ({ info }: Plan): Plan => (info === undefined ? PASS : { ...PASS, info });
    const fail = (error: unknown): Plan => {
      const what = 'a limit in report mode could not decide, and let the request pass';
      warnOnce('SLUICE_REPORT_FAILED', `${what}: ${messageOf(error)}`);
      return PASS;
    };
    try {
      const plan = this.#way(call);
      return plan instanceof Promise ? plan.then(pass).catch(fail) : pass(plan);
    } catch (error) {
      return fail(error);
    }
  }

  /** The last step. */
  #ask(call: Call): MaybePromise<Plan> {
    const { wants, before } = call;
    if (wants.length === 0) return PASS;
    call.keys ??= call.found ?? '';
    if (this.#paces) return this.#pace(call);
    const options = before === undefined && this.#onStoreError === undefined ? undefined : this.#optionsFor(call);
    const decided = this.#core.decide(this.#reports ? 'try' : 'take', wants, options);
    if (!(decided instanceof Promise)) return this.#conclude(call, decided);
    return countWait(call, decided).then((decision) => this.#conclude(call, decision));
  }

  async #pace(call: Call): Promise<Plan> {
    const { wants, request, response } = call;
    const [raw, rawResponse] = [this.#framework.rawRequest(request), this.#framework.rawResponse(response)];
    const plan = await decidePaced(
      { core: this.#core, paced: this.#nearest.paced, wants, raw, rawResponse },
      (op) => {
        const decided = this.#core.decide(op, wants, { ...this.#optionsFor(call), isSilent: true });
        return decided instanceof Promise ? countWait(call, decided) : decided;
      },
      (decision) => this.#conclude(call, decision),
    );
    return plan === 'gone' ? GONE : plan;
  }

  /** Leaves a decision what is left of the patience that all limiters of the request share. */
  #optionsFor(call: Call): DecideOptions {
    let waitedMs = 0;
    for (let at: Call | undefined = call; at !== undefined; at = at.before) waitedMs += at.waitedMs;
    const endMs = waitedMs === 0 ? undefined : this.#core.timeoutMs - waitedMs + performance.now();
    return { endMs, onStoreError: this.#onStoreError };
  }

  #conclude(call: Call, decision: Decision): MaybePromise<Plan> {
    const { settings } = call;
    if (this.followsResponses) this.#follow(call, decision);
    const info = { key: call.keys as FoundKeys, decision };
    call.info = info;
    const plan: Plan = {
      fields: decision.policies.length === 0 ? PASS.fields : settings.headers(decision),
      info,
      denial: decision.allowed ? undefined : denialFor(decision, settings.retryAfter, settings.status),
      settings,
    };
    if (settings.onDecision === undefined) return plan;
    const { request, argument } = call;
    return mapMaybe(settings.onDecision(decision, { key: info.key, request, response: argument }), () => plan);
  }

  /** Holds the slots of a decision, and gives units back, until or when the response ends. */
  #follow(call: Call, decision: Decision): void {
    const [raw, rawResponse] = [this.#framework.rawRequest(call.request), this.#framework.rawResponse(call.response)];
    if (this.#holds) holdUntilClosed(this.#core, decision, raw, rawResponse, call.settings.maxSlotMs);
    if (this.#refunds && decision.allowed) refundOnResponse(this.#framework, this.#core, call, decision);
  }

  /** Decides about preflights by their budgets, and by the addresses on lists. */
  #preflightBy(readWants: (request: object) => readonly Want[]): (call: Call) => MaybePromise<Plan> {
    const { settings } = this;
    const { allow, status } = settings;
    return (call) => {
      const address = this.#framework.address(call.request);
      const isForbidden = this.#places.some((place) => place.settings.deny?.hasAddress(address) === true);
      if (isForbidden) return deniedBy(forbiddenDenial(status), settings);
      const wants = allow?.hasAddress(address) === true ? [] : readWants(call.request);
      if (wants.length === 0) return PASS;
      const decided = this.#core.decide('take', wants, this.#optionsFor(call));
      return mapMaybe(decided instanceof Promise ? countWait(call, decided) : decided, (decision) =>
        decision.allowed ? PASS : deniedBy(denialFor(decision, undefined, status), settings),
      );
    };
  }
}

async function countWait(call: Call, asked: Promise<Decision>): Promise<Decision> {
  const startMs = performance.now();
  try {
    return await asked;
  } finally {
    call.waitedMs += performance.now() - startMs;
  }
}

/** The steps of one place: what it does not configure is not among them. What skips its limits goes on behind them. */
function wayThrough(place: PlacedLimits, framework: AnyReader, next: Way): Way {
  const { allow, deny, skip, status } = place.settings;
  const limits = place.limits.reduceRight((after, limit) => wayThroughLimit(place, limit, framework, after), next);
  const unlessSkipped: Way =
    skip === undefined
      ? limits
      : (call) => mapMaybe(skip(call.request, call.argument), (skips) => (skips ? next(call) : limits(call)));
  if (allow !== undefined || deny !== undefined) {
    return (call) => {
      const address = framework.address(call.request);
      if (deny?.hasAddress(address) === true) return deniedBy(forbiddenDenial(status), place.settings);
      return deny?.hasKeys !== true && allow?.hasAddress(address) === true ? next(call) : unlessSkipped(call);
    };
  }
  if (skip === undefined && place.limits[0]?.readsAddressFirst === true) return limits;
  return (call) => {
    framework.address(call.request); // before the first await: the socket keeps it, and once the client is gone it is unknown
    return unlessSkipped(call);
  };
}

/** Adds what one limit wants of its key, or denies the request for it. */
function wayThroughLimit(place: PlacedLimits, own: HttpLimit, framework: AnyReader, next: Way): Way {
  const { settings, core } = place;
  const { allow, deny, status } = settings;
  const { name, limit, cost, readKey, reader, onMissingKey, expectsMissingKeys } = own;
  const add = (call: Call, key: string | undefined, picked: Limit, units: number): MaybePromise<Plan> => {
    call.settings = settings;
    if (settings.refund !== undefined) call.refunds?.set(picked, settings.refund);
    const subject = key === undefined ? MISSING : readSubject(key);
    const holder = picked.mayHold ? newHolder() : 0;
    call.wants.push({ limit: picked, key: key ?? '', subject, cost: units, holder, isNamed: false });
    return next(call);
  };
  const pick = (call: Call, key: string | undefined): MaybePromise<Plan> => {
    const { request, argument } = call;
    return mapMaybe(typeof cost === 'number' ? cost : cost(request, argument), (units) => {
      checkCost(units);
      if (units === 0) return next(call);
      return mapMaybe(typeof limit === 'function' ? limit(request, argument) : limit, (picked) =>
        add(call, key, picked, units),
      );
    });
  };
  const want = (call: Call, key: string | undefined): MaybePromise<Plan> => {
    if (key !== undefined) {
      if (call.found === undefined) call.keys = key;
      else call.found[name] = key;
      if (deny?.hasKey(key) === true) return deniedBy(forbiddenDenial(status), settings);
      // Lifts this limit alone: the keys of other limits may be ones that any client can send.
      if (allow?.hasKey(key) === true) return next(call);
    }
    if (deny?.hasKeys === true && allow?.hasAddress(framework.address(call.request)) === true) return next(call);
    if (key === undefined && onMissingKey === 'skip') return next(call);
    if (key === undefined && onMissingKey === 'deny') {
      if (!expectsMissingKeys) warnOfMissingKey(core.name);
      return deniedBy(missingKeyDenial(status), settings);
    }
    return typeof limit !== 'function' && typeof cost === 'number' ? add(call, key, limit, cost) : pick(call, key);
  };
  return (call) => {
    const key = readKey(call.request, reader, call.argument);
    return typeof key === 'object' ? key.then((late) => want(call, late)) : want(call, key);
  };
}

/** Whether a limit may hold slots, or make requests wait. One that a function of the request picks may. */
function may(limit: HttpLimit['limit'], what: 'mayHold' | 'mayPace'): boolean {
  return typeof limit === 'function' || limit[what];
}

function deniedBy(denial: Denial, settings: HttpSettings): Plan {
  return { ...PASS, denial, settings };
}

/** The modes of `onStoreError`, the most permissive first. */
const STRICTNESS: readonly OnStoreError[] = ['allow', 'local', 'deny', 'throw'];

function checkTogether(places: readonly PlacedLimits[]): void {
  const names = places.flatMap(({ limits }) => limits.map(({ name }) => name));
  checkDistinct(names, 'name');
  const store = places[0]?.core.store;
  if (places.every(({ core }) => core.store === store)) return;
  const where = places.map(({ name }) => shown(name)).join(' and ');
  throw new PolicyError(
    'store',
    `limits that act on one request together need one store, got several in ${where}; give the inner one no store of its own`,
    'SLUICE_OPTION_INVALID',
  );
}
