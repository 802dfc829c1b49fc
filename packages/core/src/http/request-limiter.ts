import { messageOf, PolicyError, shown, typeError } from '../errors.ts';
import { checkCost } from '../values/cost.ts';
import { checkDistinct } from '../values/name.ts';
import { readSubject } from '../values/key.ts';
import { warnOnce } from '../warnings.ts';
import type { Decision } from '../limiter/decision.ts';
import { newHolder } from '../limiter/holder.ts';
import type { LimiterCore } from '../limiter/core.ts';
import type { Limit, Want } from '../limiter/limits.ts';
import type { OnStoreError } from '../limiter/options.ts';
import { Diagnostics } from './diagnostics.ts';
import {
  argumentFor,
  asError,
  type Framework,
  type FrameworkReader,
  type RateLimitInfo,
  type RawRequest,
} from './framework.ts';
import { warnOfMissingKey } from './keys/read-key.ts';
import { decidePaced } from './lifecycle/pacing.ts';
import { refundOnResponse } from './lifecycle/refund.ts';
import { holdUntilClosed } from './lifecycle/slots.ts';
import { isThenable, mapMaybe } from './maybe.ts';
import type { HttpSettings } from './options.ts';
import { GONE, PASS, type Plan } from './plan.ts';
import type { HttpLimit, PlacedLimits, PlacedWant } from './place.ts';
import { isPreflight, readPreflightBudgets } from './preflights.ts';
import { findMark, markOnce, privateFieldMarks, type FoundKeys, type RequestMark } from './request-marks.ts';
import { respond } from './respond.ts';
import { denialFor, forbiddenDenial, missingKeyDenial, type Denial } from './response/denial.ts';

/** One request on its way through the steps. */
interface Call<Request, Response> {
  readonly request: Request;
  readonly response: Response;
  readonly raw: RawRequest;
  readonly mark: RequestMark;
  readonly wants: PlacedWant<Request, Response>[];
  /** The keys that were found, by the name of their limit. */
  readonly keys: Record<string, string>;
  /** Whether the address is on the list `allow`: only a key on the list `deny` can still deny the request. */
  isExempt: boolean;
  /** Those of the innermost place that limits the request. */
  settings: HttpSettings<Request, Response>;
}

/** Ends the way of a request with a plan, or lets it go on. */
type Step<Request, Response> = (
  call: Call<Request, Response>,
) => Plan<Request, Response> | undefined | Promise<Plan<Request, Response> | undefined>;

/** The subject of all requests without a key. No key of a caller has it: one that begins with `#` is hashed. */
const MISSING = '#missing';

/**
 * Decides about the requests of a framework. The options become a list of steps, once; each request runs through them:
 * the lists of clients, `skip`, and each limit's key, cost and policy; then one decision over everything that is wanted.
 * It is synchronous as long as the store and the functions of the user are.
 *
 * @typeParam Read - With a {@link FrameworkReader} alone it plans: the adapter writes what is planned.
 */
export class RequestLimiter<
  Request,
  Response,
  Read extends FrameworkReader<Request, Response> = Framework<Request, Response>,
> {
  readonly framework: Read;
  /** Whether anything may wait for the end of a response, or for its client to leave. */
  readonly followsResponses: boolean;
  readonly #places: readonly PlacedLimits<Request, Response>[];
  readonly #core: LimiterCore;
  readonly #settings: HttpSettings<Request, Response>;
  readonly #steps: readonly Step<Request, Response>[];
  readonly #diagnostics: Diagnostics<Request, Response>;
  readonly #preflight: ((request: Request) => readonly Want[]) | undefined;
  readonly #reports: boolean;
  readonly #refunds: boolean;
  /** While the store fails, a request gets no more than each of several places allows. */
  readonly #onStoreError: OnStoreError | undefined;
  readonly #paces: boolean;
  readonly #holds: boolean;
  /** Whether something may be awaited before the address is read. */
  readonly #readsAddressLate: boolean;

  /**
   * @param places - Those whose limits are decided together, the outermost first. The settings of the innermost one that
   * limits a request apply to it. All have one `mode`.
   * @throws PolicyError if two limits have the same name, or their stores differ.
   */
  constructor(places: readonly PlacedLimits<Request, Response>[], framework: Read) {
    const nearest = places.at(-1) as PlacedLimits<Request, Response>;
    this.framework = framework;
    this.#places = places;
    this.#core = nearest.core;
    this.#settings = nearest.settings;
    this.#reports = nearest.settings.mode === 'report';
    this.#refunds = places.some(({ settings }) => settings.refund !== undefined);
    if (places.length > 1) this.#onStoreError = findStrictest(places);
    if (places.length > 1) checkTogether(places);
    const [only] = places;
    this.#steps =
      places.length === 1 && only !== undefined
        ? stepsOf(only, framework)
        : places.map((place) => {
            const steps = stepsOf(place, framework);
            return (call) => {
              call.isExempt = false;
              return mapMaybe(run(steps, call, 0), (ended) => (ended === PASS ? undefined : ended));
            };
          });
    this.#diagnostics = new Diagnostics(framework);
    const { preflights } = this.#settings;
    if (preflights === 'skip') this.#preflight = () => [];
    if (preflights === 'separate') this.#preflight = readPreflightBudgets(places, framework);
    const limits = places.flatMap((place) => place.limits);
    this.#paces = !this.#reports && limits.some(({ limit }) => may(limit, 'mayPace'));
    this.#holds = limits.some(({ limit }) => may(limit, 'mayHold'));
    this.followsResponses = this.#paces || this.#holds || this.#refunds;
    const { allow, deny, skip } = only?.settings ?? this.#settings;
    const isListed = allow !== undefined || deny !== undefined;
    this.#readsAddressLate = !isListed && (skip !== undefined || limits[0]?.readsAddressFirst !== true);
  }

  /** Decides, and writes nothing to the response. The request counts once, however often it comes. */
  plan(request: Request, response: Response): Plan<Request, Response> | Promise<Plan<Request, Response>> {
    if (this.#preflight !== undefined && isPreflight(this.framework, request)) {
      return this.#decidePreflight(this.#preflight(request), request);
    }
    const raw = this.framework.rawRequest(request);
    const mark = markOnce(this.framework.marks ?? privateFieldMarks, raw, this);
    if (mark === undefined) return PASS;
    // Before the first await: the socket keeps it, and once the client is gone it is unknown.
    if (this.#readsAddressLate) this.framework.address(request);
    this.#diagnostics.check(request, raw);
    const call = { request, response, raw, mark, wants: [], keys: {}, isExempt: false, settings: this.#settings };
    return this.#reports ? this.#report(call) : this.#decide(call);
  }

  /**
   * Decides, writes the header fields, and sends the response if the request is denied.
   *
   * @returns Whether the request continues. Not a promise, if the store and the functions of the user are
   * synchronous.
   * @throws (or rejects with) errors of the user's functions; StoreError, with `onStoreError: 'throw'`;
   * RateLimitError for a denial, with `throw: true`.
   */
  limit(this: RequestLimiter<Request, Response>, request: Request, response: Response): boolean | Promise<boolean> {
    const plan = this.plan(request, response);
    return plan instanceof Promise
      ? plan.then((late) => respond(this.framework, late, request, response))
      : respond(this.framework, plan, request, response);
  }

  /**
   * As {@link limit}, for a framework with a callback: calls it if the request continues, or with the error; never
   * after a response. Does not catch what the callback throws.
   */
  limitThen(
    this: RequestLimiter<Request, Response>,
    request: Request,
    response: Response,
    next: (error?: unknown) => void,
  ): void {
    let passes: boolean | Promise<boolean>;
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
  async keyFor(request: Request): Promise<FoundKeys> {
    const marks = this.framework.marks ?? privateFieldMarks;
    const keys =
      findMark(marks, this.framework.rawRequest(request), this)?.keys ?? this.#keyOf(await this.#readKeys(request));
    if (typeof keys === 'string' ? keys !== '' : Object.keys(keys).length > 0) return keys;
    throw typeError('SLUICE_KEY_INVALID', `the request has no key for the limiter ${this.#core.name}`);
  }

  async #readKeys(request: Request): Promise<Record<string, string>> {
    const keys: Record<string, string> = {};
    for (const { name, readKey } of this.#places.flatMap(({ limits }) => limits)) {
      const key = await readKey(request);
      if (key !== undefined) keys[name] = key;
    }
    return keys;
  }

  /** The key as the application sees it: a string, or the keys by the name of their limit. */
  #keyOf(keys: Readonly<Record<string, string>>): FoundKeys {
    const [only] = this.#places;
    return this.#places.length === 1 && only?.hasOneKey === true ? (keys[only.name] ?? '') : keys;
  }

  #decide(call: Call<Request, Response>): Plan<Request, Response> | Promise<Plan<Request, Response>> {
    return mapMaybe(run(this.#steps, call, 0), (ended) => ended ?? this.#ask(call));
  }

  /** Decides as otherwise. What fails is warned of, and the request continues. */
  #report(call: Call<Request, Response>): Plan<Request, Response> | Promise<Plan<Request, Response>> {
    const failed = (error: unknown): Plan<Request, Response> => {
      const what = 'a limit in report mode could not decide, and let the request pass';
      warnOnce('SLUICE_REPORT_FAILED', `${what}: ${messageOf(error)}`);
      return PASS;
    };
    try {
      const plan = this.#decide(call);
      return plan instanceof Promise ? plan.catch(failed) : plan;
    } catch (error) {
      return failed(error);
    }
  }

  #ask(call: Call<Request, Response>): Plan<Request, Response> | Promise<Plan<Request, Response>> {
    call.mark.keys = this.#keyOf(call.keys);
    if (call.wants.length === 0) return PASS;
    if (!this.#paces) {
      return mapMaybe(this.#take(call), (decision) => this.#conclude(call, decision));
    }
    const { framework } = this;
    const pacing = {
      core: this.#core,
      wants: call.wants,
      raw: call.raw,
      rawResponse: framework.rawResponse(call.response),
    };
    const { paced } = this.#places.at(-1) as PlacedLimits<Request, Response>;
    return decidePaced(
      { ...pacing, paced },
      (op) => (op === 'peek' ? this.#askStore(op, call) : this.#take(call)),
      (decision) => this.#conclude(call, decision),
    ).then((plan) => (plan === 'gone' ? GONE : plan));
  }

  /** Takes units, and holds the slots among them until the response closes. */
  #take(call: Call<Request, Response>): Decision | Promise<Decision> {
    const taken = this.#askStore(this.#reports ? 'try' : 'take', call);
    if (!this.#holds) return taken;
    return mapMaybe(taken, (decision) => {
      const rawResponse = this.framework.rawResponse(call.response);
      holdUntilClosed(this.#core, decision, call.raw, rawResponse, call.settings.maxSlotMs);
      return decision;
    });
  }

  /**
   * Asks within what is left of the patience that all limiters of the request share.
   *
   * @param isSilent - Whether the decision is published later, once it is clear whether the request waits.
   */
  #askStore(
    op: 'take' | 'peek' | 'try',
    { mark, wants }: { readonly mark: RequestMark; readonly wants: readonly Want[] },
    isSilent = this.#paces,
  ): Decision | Promise<Decision> {
    let waitedMs = 0;
    for (let at: RequestMark | undefined = mark; at !== undefined; at = at.before) waitedMs += at.waitedMs;
    const onStoreError = this.#onStoreError;
    const isUsual = waitedMs === 0 && !isSilent && onStoreError === undefined;
    const endMs = waitedMs === 0 ? undefined : this.#core.timeoutMs - waitedMs + performance.now();
    const decided = this.#core.decide(op, wants, isUsual ? undefined : { isSilent, onStoreError, endMs });
    if (!(decided instanceof Promise)) return decided;
    const startMs = performance.now();
    const stop = (): void => {
      mark.waitedMs += performance.now() - startMs;
    };
    return decided.finally(stop);
  }

  #conclude(
    call: Call<Request, Response>,
    decision: Decision,
  ): Plan<Request, Response> | Promise<Plan<Request, Response>> {
    const { request, response, settings } = call;
    if (this.#refunds && decision.allowed) {
      refundOnResponse(this.framework, this.#core, call.wants, decision, request, response);
    }
    const info = { key: call.mark.keys as FoundKeys, decision };
    const { onDecision } = settings;
    if (onDecision === undefined) return this.#planFor(info, settings);
    const context = { key: info.key, request, response: argumentFor(this.framework, response) };
    return mapMaybe(onDecision(decision, context), () => this.#planFor(info, settings));
  }

  #planFor(info: RateLimitInfo, settings: HttpSettings<Request, Response>): Plan<Request, Response> {
    if (this.#reports) return { ...PASS, info };
    const { decision } = info;
    return {
      fields: decision.policies.length === 0 ? PASS.fields : settings.headers(decision),
      info,
      denial: decision.allowed ? undefined : denialFor(decision, settings.retryAfter, settings.status),
      settings,
      isGone: false,
    };
  }

  #decidePreflight(
    wants: readonly Want[],
    request: Request,
  ): Plan<Request, Response> | Promise<Plan<Request, Response>> {
    const { framework } = this;
    const settings = this.#settings;
    const mark = markOnce(framework.marks ?? privateFieldMarks, framework.rawRequest(request), this);
    const isAllowed = settings.allow?.hasAddress(framework.address(request)) === true;
    if (mark === undefined || wants.length === 0 || isAllowed || this.#reports) return PASS;
    return mapMaybe(this.#askStore('take', { mark, wants }, false), (decision) =>
      decision.allowed ? PASS : deniedBy(denialFor(decision, undefined, settings.status), settings),
    );
  }
}

/** Runs steps from one on, until one ends the way of the request. */
function run<Request, Response>(
  steps: readonly Step<Request, Response>[],
  call: Call<Request, Response>,
  from: number,
): Plan<Request, Response> | undefined | Promise<Plan<Request, Response> | undefined> {
  for (let i = from; i < steps.length; i++) {
    const ended = (steps[i] as Step<Request, Response>)(call);
    if (ended === undefined) continue;
    if (!isThenable(ended)) return ended;
    return ended.then((late) => late ?? run(steps, call, i + 1));
  }
  return undefined;
}

/** The steps of one place: what it does not configure is not among them. */
function stepsOf<Request, Response>(
  place: PlacedLimits<Request, Response>,
  framework: FrameworkReader<Request, Response>,
): readonly Step<Request, Response>[] {
  const { allow, skip } = place.settings;
  const deny = place.settings.mode === 'report' ? undefined : place.settings.deny;
  const steps: Step<Request, Response>[] = [];
  if (allow !== undefined || deny !== undefined) {
    steps.push((call) => {
      const address = framework.address(call.request);
      if (deny?.hasAddress(address) === true) return deniedBy(forbiddenDenial(place.settings.status), place.settings);
      call.isExempt = allow?.hasAddress(address) === true;
      return call.isExempt && deny?.hasKeys !== true ? PASS : undefined;
    });
  }
  if (skip !== undefined) {
    steps.push(({ request, response }) =>
      mapMaybe(skip(request, argumentFor(framework, response)), (skips) => (skips ? PASS : undefined)),
    );
  }
  for (const limit of place.limits) {
    steps.push((call) => {
      const key = limit.readKey(call.request, argumentFor(framework, call.response));
      return typeof key === 'object'
        ? key.then((late) => addWant(place, limit, late, framework, call))
        : addWant(place, limit, key, framework, call);
    });
  }
  return steps;
}

/** Adds what one limit wants of its key, or denies the request for it. */
function addWant<Request, Response>(
  { settings, core }: PlacedLimits<Request, Response>,
  { name, limit, cost, onMissingKey, expectsMissingKeys }: HttpLimit<Request, Response>,
  key: string | undefined,
  framework: FrameworkReader<Request, Response>,
  call: Call<Request, Response>,
): Plan<Request, Response> | undefined | Promise<Plan<Request, Response> | undefined> {
  const { allow, deny, mode, status } = settings;
  if (key !== undefined) {
    call.keys[name] = key;
    if (mode === 'enforce' && deny?.hasKey(key) === true) return deniedBy(forbiddenDenial(status), settings);
    // Lifts this limit alone: the keys of other limits may be ones that any client can send.
    if (allow?.hasKey(key) === true) return undefined;
  } else if (call.isExempt || onMissingKey === 'skip') {
    return undefined;
  } else if (onMissingKey === 'deny') {
    if (!expectsMissingKeys) warnOfMissingKey(core.name, call.request);
    return mode === 'report' ? PASS : deniedBy(missingKeyDenial(status), settings);
  }
  if (call.isExempt) return undefined;
  const subject = key === undefined ? MISSING : readSubject(key);
  const add = (limit: Limit, cost: number): Plan<Request, Response> | undefined => {
    const holder = may(limit, 'mayHold') ? newHolder() : 0;
    call.wants.push({ limit, key: key ?? '', subject, cost, holder, isNamed: false, settings });
    call.settings = settings;
    return undefined;
  };
  if (typeof limit !== 'function' && typeof cost === 'number') return add(limit, cost);
  const response = argumentFor(framework, call.response);
  return mapMaybe(typeof cost === 'number' ? cost : cost(call.request, response), (units) => {
    checkCost(units);
    if (units === 0) return undefined;
    if (typeof limit !== 'function') return add(limit, units);
    return mapMaybe(limit(call.request, response), (picked) => add(picked, units));
  });
}

/** Whether a limit may hold slots, or make requests wait. One that a function of the request picks may. */
function may<Request, Response>(limit: HttpLimit<Request, Response>['limit'], what: 'mayHold' | 'mayPace'): boolean {
  return typeof limit === 'function' || limit[what];
}

function deniedBy<Request, Response>(
  denial: Denial,
  settings: HttpSettings<Request, Response>,
): Plan<Request, Response> {
  return { ...PASS, denial, settings };
}

/** The modes of `onStoreError`, the most permissive first. */
const STRICTNESS: readonly OnStoreError[] = ['allow', 'local', 'deny', 'throw'];

function findStrictest(places: readonly PlacedLimits<never, never>[]): OnStoreError {
  return STRICTNESS.findLast((mode) => places.some(({ core }) => core.onStoreError === mode)) ?? 'local';
}

function checkTogether<Request, Response>(places: readonly PlacedLimits<Request, Response>[]): void {
  checkDistinct(
    places.flatMap((place) => place.limits.map(({ name }) => name)),
    'name',
  );
  const store = places[0]?.core.store;
  if (places.every(({ core }) => core.store === store)) return;
  throw new PolicyError(
    'store',
    `limits that act on one request together need one store, got several in ${places.map(({ name }) => shown(name)).join(' and ')}; give the inner one no store of its own`,
    'SLUICE_OPTION_INVALID',
  );
}
