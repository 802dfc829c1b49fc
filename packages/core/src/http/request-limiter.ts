import { getMessage, PolicyError, shown, typeError } from '../errors.ts';
import { warnOnce } from '../warnings.ts';
import { checkDistinct } from '../values/name.ts';
import type { DecideOptions, DecidingOp } from '../limiter/core.ts';
import type { Decision } from '../limiter/decision.ts';
import type { Limiter } from '../limiter/limiter.ts';
import type { KeyByLimit, Want } from '../limiter/limits.ts';
import type { OnStoreError } from '../limiter/options.ts';
import { warnAboutProxies } from './diagnostics.ts';
import { asError, type AnyFramework, type AnyReader } from './framework.ts';
import { decidePaced } from './lifecycle/pacing.ts';
import { refundOnResponse } from './lifecycle/refund.ts';
import { holdUntilClosed } from './lifecycle/slots.ts';
import { mapMaybe, type MaybePromise } from './maybe.ts';
import type { HttpSettings } from './options.ts';
import { denied, findCall, LATEST, PASS, type Call, type FoundKeys, type Locals, type Plan } from './plan.ts';
import { Place, type PlacedLimits } from './place.ts';
import { isPreflight, readPreflightBudgets } from './preflights.ts';
import { respond } from './respond.ts';
import { denialFor, forbiddenDenial } from './response/denial.ts';
import { stepsThrough, type Step } from './steps.ts';

/** All of the first requests are checked for mistakes in the proxy settings, later ones only from time to time. */
const FIRST_REQUESTS = 128;

/**
 * Properties of every middleware. A handler can use them to reset or block a key:
 * `await login.limiter.reset(await login.keyFor(request))`.
 */
export interface Limited<Request> {
  /**
   * The limiter of the middleware: its own, or the one of the option `limiter`. With several limits, its keys are
   * objects with a key for each.
   *
   * @throws PolicyError if a function picks the policy, because there is no single limiter then.
   */
  readonly limiter: Limiter<string | KeyByLimit>;
  /**
   * The request's key or, with several limits, its keys by limit.
   *
   * @throws (rejects) TypeError `SLUICE_KEY_INVALID` for a request without a key.
   */
  keyFor<Key = string>(request: Request): Promise<Key>;
}

/**
 * Creates the limits of `rateLimit(options)` for an adapter: checks them, and claims their name on the store.
 *
 * @param options - The user's options, unchecked.
 * @param ownOptions - Names of further options, which the adapter itself reads.
 * @throws PolicyError for bad or unknown options; `SLUICE_LIMITER_NAME_TAKEN` for a name that is in use on the store.
 */
export function limitRequests(
  options: object,
  framework: AnyReader,
  ownOptions: readonly string[] = [],
): RequestLimiter {
  const place = new Place(options, framework, ownOptions);
  const requests = new RequestLimiter([place], framework);
  place.claim();
  return requests;
}

/** Adds `limiter` and `keyFor` to a middleware. The limit is read when they are used. */
export function withLimiter<Handler extends object>(
  handler: Handler,
  requests: Pick<RequestLimiter, 'limiter' | 'keyFor'>,
): Handler & Limited<never> {
  Object.defineProperties(handler, {
    limiter: { get: () => requests.limiter, enumerable: true },
    keyFor: { value: async (request: object) => requests.keyFor(request), enumerable: true },
  });
  return handler as Handler & Limited<never>;
}

/**
 * Decides about the requests of a framework. The options become a chain of steps once, and each step calls the next:
 * the client lists, `skip`, and each limit's key, cost and policy; then one decision over all of them. It is
 * synchronous if the store and the user's functions are.
 */
export class RequestLimiter {
  /** Those of the innermost place. */
  readonly settings: HttpSettings;
  /** Whether anything may wait for the end of a response, or for its client to leave. */
  readonly followsResponses: boolean;
  readonly #framework: AnyReader;
  readonly #places: readonly PlacedLimits[];
  readonly #nearest: PlacedLimits;
  /** The name of the only limit, if a request has one key rather than one per limit. */
  readonly #onlyName: string | undefined;
  readonly #steps: Step;
  readonly #preflight: Step | undefined;
  readonly #refunds: boolean;
  readonly #paces: boolean;
  readonly #holds: boolean;
  /** While the store fails, the strictest of several places decides. */
  readonly #onStoreError: OnStoreError | undefined;
  #requests = 0;

  /**
   * @param places - The places whose limits are decided together, outermost first. The settings of the innermost one
   * that limits a request apply to it. All have one `mode`.
   * @param framework - A whole `Framework` for {@link limit}; its reading half is enough for {@link plan}.
   * @throws PolicyError if two limits have the same name, or their stores differ.
   */
  constructor(places: readonly PlacedLimits[], framework: AnyReader) {
    const nearest = places.at(-1) as PlacedLimits;
    const { preflights, mode } = nearest.settings;
    const reports = mode === 'report';
    const may = (what: 'mayHold' | 'mayPace'): boolean =>
      places.some(({ limits }) => limits.some(({ limit }) => typeof limit === 'function' || limit[what]));
    this.settings = nearest.settings;
    this.#framework = framework;
    this.#places = places;
    this.#nearest = nearest;
    this.#onlyName = places.length === 1 && nearest.hasOneKey ? nearest.name : undefined;
    this.#refunds = places.some(({ settings }) => settings.refund !== undefined);
    this.#paces = !reports && may('mayPace');
    this.#holds = may('mayHold');
    this.followsResponses = this.#paces || this.#holds || this.#refunds;
    if (places.length > 1) {
      checkTogether(places);
      this.#onStoreError = STRICTNESS.findLast((one) => places.some(({ core }) => core.onStoreError === one));
    }
    const last: Step = (this.#paces ? this.#pace : this.#ask).bind(this);
    const steps = places.reduceRight((next, place) => stepsThrough(place, framework, next), last);
    this.#steps = reports ? reporting(steps) : steps;
    if (preflights === 'skip' || (preflights === 'separate' && reports)) this.#preflight = () => PASS;
    else if (preflights === 'separate') this.#preflight = this.#preflightBy(readPreflightBudgets(places, framework));
  }

  /** The limiter of a place. */
  get limiter(): Limiter<never> {
    return (this.#nearest as Place).limiter;
  }

  /** Closes a place. */
  async close(): Promise<void> {
    await (this.#nearest as Place).close();
  }

  /** Decides without writing to the response. The same request counts once, however often this is called. */
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
      found: {},
      settings: this.settings,
      waitedMs: before === undefined ? 0 : before.waitedMs,
      info: undefined,
    };
    locals[LATEST] = call;
    if (this.#preflight !== undefined && framework.method(request) === 'OPTIONS' && isPreflight(framework, request)) {
      return this.#preflight(call);
    }
    const number = this.#requests++;
    if (number < FIRST_REQUESTS || number % 64 === 0) warnAboutProxies(framework, request, number === 0);
    return this.#steps(call);
  }

  /**
   * Decides, writes the header fields, and sends the response if the request is denied.
   *
   * @returns Whether the request continues. Not a promise, if the store and the functions of the user are
   * synchronous.
   * @throws (or rejects with) errors of the user's functions, by {@link asError}; StoreError, with
   * `onStoreError: 'throw'`; RateLimitError for a denial, with `throw: true`.
   */
  limit(request: object, response: unknown): MaybePromise<boolean> {
    const framework = this.#framework as AnyFramework;
    try {
      const plan = this.plan(request, response);
      const passes =
        plan instanceof Promise
          ? plan.then((late) => respond(framework, late, request, response))
          : respond(framework, plan, request, response);
      return passes instanceof Promise ? passes.catch(fail) : passes;
    } catch (error) {
      return fail(error);
    }
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
      next(error);
      return;
    }
    if (passes === true) next();
    else if (passes !== false) {
      passes.then((late) => {
        if (late) next();
      }, next);
    }
  }

  async keyFor(request: object): Promise<FoundKeys> {
    const known = findCall((this.#framework.locals(request) as Locals)[LATEST], this)?.info?.key;
    const keys = known ?? (await this.#readKeys(request));
    if (typeof keys === 'string' ? keys !== '' : Object.keys(keys).length > 0) return keys;
    throw typeError('SLUICE_KEY_INVALID', `the request has no key for the limiter ${shown(this.#nearest.name)}`);
  }

  async #readKeys(request: object): Promise<FoundKeys> {
    const keys: Record<string, string> = {};
    for (const { name, readKey, reader } of this.#places.flatMap(({ limits }) => limits)) {
      const key = await readKey(request, reader);
      if (key !== undefined) keys[name] = key;
    }
    return this.#onlyName === undefined ? keys : (keys[this.#onlyName] ?? '');
  }

  /** The last step. */
  #ask(call: Call): MaybePromise<Plan> {
    if (call.wants.length === 0) return PASS;
    const decided = this.#decide(call, this.settings.mode === 'report' ? 'try' : 'take', call.wants);
    if (!(decided instanceof Promise)) return this.#conclude(call, decided);
    return decided.then((decision) => this.#conclude(call, decision));
  }

  /** The last step if a policy may delay requests. */
  #pace(call: Call): MaybePromise<Plan> {
    const { wants, request, response } = call;
    if (wants.length === 0) return PASS;
    const { core, paced } = this.#nearest;
    const [raw, rawResponse] = [this.#framework.rawRequest(request), this.#framework.rawResponse(response)];
    return decidePaced(
      { core, paced, raw, rawResponse },
      (op) => this.#decide(call, op, wants, true),
      (decision) => this.#conclude(call, decision),
    );
  }

  /** Gives the decision the rest of the time that all limiters of the request share. */
  #decide(call: Call, op: DecidingOp, wants: readonly Want[], isSilent = false): MaybePromise<Decision> {
    const { core } = this.#nearest;
    const { waitedMs } = call;
    let options: DecideOptions | undefined;
    if (isSilent || waitedMs > 0 || this.#onStoreError !== undefined) {
      const endMs = waitedMs === 0 ? undefined : core.timeoutMs - waitedMs + performance.now();
      options = { endMs, onStoreError: this.#onStoreError, isSilent };
    }
    const decided = core.decide(op, wants, options);
    return decided instanceof Promise ? countWait(call, decided) : decided;
  }

  #conclude(call: Call, decision: Decision): MaybePromise<Plan> {
    const { settings, request } = call;
    if (this.followsResponses) this.#follow(call, decision);
    const key = this.#onlyName === undefined ? call.found : (call.found[this.#onlyName] ?? '');
    const info = { key, decision };
    call.info = info;
    const plan: Plan = {
      fields: decision.policies.length === 0 ? PASS.fields : settings.headers(decision),
      info,
      denial: decision.allowed ? undefined : denialFor(decision, settings.retryAfter, settings.status),
      settings,
    };
    if (settings.onDecision === undefined) return plan;
    return mapMaybe(settings.onDecision(decision, { key, request, response: call.argument }), () => plan);
  }

  /** Holds the slots of a decision until the response ends, and then refunds units. */
  #follow(call: Call, decision: Decision): void {
    const { core } = this.#nearest;
    const [raw, rawResponse] = [this.#framework.rawRequest(call.request), this.#framework.rawResponse(call.response)];
    if (this.#holds) holdUntilClosed(core, decision, raw, rawResponse, call.settings.maxSlotMs);
    if (this.#refunds && decision.allowed) refundOnResponse(this.#framework, core, call, decision);
  }

  /** Decides about preflights by their budgets and the client lists. */
  #preflightBy(readWants: (request: object) => readonly Want[]): Step {
    const { settings } = this;
    const { allow, status } = settings;
    return (call) => {
      const address = this.#framework.address(call.request);
      const isForbidden = this.#places.some((place) => place.settings.deny?.hasAddress(address) === true);
      if (isForbidden) return denied(forbiddenDenial(status), settings);
      const wants = allow?.hasAddress(address) === true ? [] : readWants(call.request);
      if (wants.length === 0) return PASS;
      return mapMaybe(this.#decide(call, 'take', wants), (decision) =>
        decision.allowed ? PASS : denied(denialFor(decision, undefined, status), settings),
      );
    };
  }
}

function fail(thrown: unknown): never {
  throw asError(thrown) as Error;
}

async function countWait(call: Call, asked: Promise<Decision>): Promise<Decision> {
  const startMs = performance.now();
  try {
    return await asked;
  } finally {
    call.waitedMs += performance.now() - startMs;
  }
}

/** Decides as usual, but the request always continues, and failures become warnings. */
function reporting(steps: Step): Step {
  const pass = ({ info }: Plan): Plan => (info === undefined ? PASS : { ...PASS, info });
  const warn = (error: unknown): Plan => {
    const what = 'a limit in report mode could not decide, and let the request pass';
    warnOnce('SLUICE_REPORT_FAILED', `${what}: ${getMessage(error)}`);
    return PASS;
  };
  return (call) => {
    try {
      const plan = steps(call);
      return plan instanceof Promise ? plan.then(pass).catch(warn) : pass(plan);
    } catch (error) {
      return warn(error);
    }
  };
}

/** The modes of `onStoreError`, the most permissive first. */
const STRICTNESS: readonly OnStoreError[] = ['allow', 'local', 'deny', 'throw'];

function checkTogether(places: readonly PlacedLimits[]): void {
  checkDistinct(
    places.flatMap(({ limits }) => limits.map(({ name }) => name)),
    'name',
  );
  const store = places[0]?.core.store;
  if (places.every(({ core }) => core.store === store)) return;
  const where = places.map(({ name }) => shown(name)).join(' and ');
  throw new PolicyError(
    'store',
    `limits that decide a request together need the same store, got several in ${where}; remove the store of the inner one`,
    'SLUICE_OPTION_INVALID',
  );
}
