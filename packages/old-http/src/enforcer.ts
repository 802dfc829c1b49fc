import { PolicyError } from '@sluice/old-core';
import { shown, checkDistinct } from '@sluice/old-core/spi';
import { answer } from './answer.ts';
import type { DecisionPath } from './decision-path.ts';
import { Diagnostics } from './diagnostics.ts';
import { PASS, type ResponsePlan } from './response-plan.ts';
import { SingleLimitPath } from './single-limit-path.ts';
import { asError, type Framework, type RawRequest } from './framework.ts';
import { GeneralPath } from './general-path.ts';
import { Layer } from './layer.ts';
import type { RateLimitOptions } from './option-types.ts';
import { isPreflight } from './preflight.ts';
import { PreflightLimits } from './preflight-limits.ts';

/**
 * Decides about requests, by one layer of limits or by several together: one decision takes all units or none, in one
 * round trip. The innermost layer that limits a request formats the response.
 */
export class Enforcer<Request, Response> {
  readonly #framework: Framework<Request, Response>;
  readonly #diagnostics: Diagnostics<Request, Response>;
  /** Whether the address has to be read before anything else. */
  readonly #readsAddress: boolean;
  readonly #path: DecisionPath<Request, Response, unknown>;
  /** The treatment of CORS preflights: the option of the innermost layer. */
  readonly #preflights: 'count' | 'skip' | PreflightLimits<Request, Response>;

  /**
   * @param layers - The outermost first.
   * @throws PolicyError when their limits cannot be decided together: two have the same name, or their stores differ.
   */
  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    checkTogether(layers);
    const [first] = layers;
    this.#framework = framework;
    this.#diagnostics = new Diagnostics(framework);
    this.#readsAddress = first?.readsAddressFirst !== true;
    this.#path = SingleLimitPath.over(layers, framework) ?? new GeneralPath(layers, framework);
    const { preflights = 'separate' } = layers.at(-1)?.settings ?? {};
    this.#preflights = preflights === 'separate' ? new PreflightLimits(layers, framework) : preflights;
  }

  /**
   * Decides, writes the header fields, and sends the response if the request is denied. Each layer sees a request
   * once: a middleware that is mounted twice counts once.
   *
   * @returns Whether the request continues. Not a promise, if the store and the functions of the user are
   * synchronous.
   * @throws (or rejects with) errors of the user's functions; StoreError, with `onStoreError: 'throw'`;
   * RateLimitError for a denial, with `throw: true`.
   */
  limit(request: Request, response: Response): boolean | Promise<boolean> {
    const plan = this.enforce(request, response);
    return plan instanceof Promise
      ? plan.then((late) => answer(this.#framework, late, request, response))
      : answer(this.#framework, plan, request, response);
  }

  /**
   * As {@link limit}, for a framework with a callback: calls it when the request continues, or with the error; never
   * after a response. Does not catch what the callback throws.
   */
  limitThen(request: Request, response: Response, next: (error?: unknown) => void): void {
    let plan: ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>>;
    try {
      plan = this.enforce(request, response);
    } catch (error) {
      next(asError(error));
      return;
    }
    if (plan instanceof Promise) {
      plan.then(
        (late) => {
          this.#answerThen(late, request, response, next);
        },
        (error: unknown) => {
          next(asError(error));
        },
      );
    } else {
      this.#answerThen(plan, request, response, next);
    }
  }

  /** The second half of {@link limitThen}. */
  #answerThen(
    plan: ResponsePlan<Request, Response>,
    request: Request,
    response: Response,
    next: (error?: unknown) => void,
  ): void {
    let passes: boolean | Promise<boolean>;
    try {
      passes = answer(this.#framework, plan, request, response);
    } catch (error) {
      next(asError(error));
      return;
    }
    if (passes === true) {
      next();
    } else if (passes !== false) {
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

  /** The first half of {@link limit}: decides, and writes nothing to the response. */
  enforce(
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    if (this.#preflights !== 'count' && isPreflight(this.#framework, request)) {
      return this.#preflights === 'skip' ? PASS : this.#preflights.decide(request, response);
    }
    const raw = this.#framework.rawRequest(request);
    const marks = this.#path.mark(raw);
    if (marks === undefined) return PASS;
    this.#prepare(request, raw);
    return this.#path.decide(marks, request, response);
  }

  #prepare(request: Request, raw: RawRequest): void {
    // The address is read before the first await, and the socket keeps it: it is unknown once the client is gone.
    if (this.#readsAddress) this.#framework.address(request);
    this.#diagnostics.check(request, raw);
  }
}

/**
 * An enforcer of one layer: the core of `rateLimit(options)` in an adapter.
 *
 * @param options - The user's options, unchecked.
 * @param ownOptions - Names of further options, which the adapter itself reads.
 * @throws PolicyError for bad or unknown options; `SLUICE_LIMITER_NAME_TAKEN` for a name that is in use on the store.
 */
export function createEnforcer<Request, Response>(
  options: RateLimitOptions<Request, Response>,
  framework: Framework<Request, Response>,
  ownOptions: readonly string[] = [],
): { readonly enforcer: Enforcer<Request, Response>; readonly layer: Layer<Request, Response> } {
  const layer = new Layer(options, framework, ownOptions);
  const enforcer = new Enforcer([layer], framework);
  layer.claim();
  return { enforcer, layer };
}

function checkTogether<Request, Response>(layers: readonly Layer<Request, Response>[]): void {
  const together = layers.filter(({ reports }) => !reports);
  checkDistinct(
    together.flatMap((layer) => layer.policyNames),
    'name',
  );
  const store = together[0]?.core.store;
  if (together.some(({ core }) => core.store !== store)) {
    throw new PolicyError(
      'store',
      `limits that act on one request together need one store, got several in ${together.map(({ name }) => shown(name)).join(' and ')}; give the inner one no store of its own, or write override: true there`,
      'SLUICE_OPTION_INVALID',
    );
  }
}
