import { PolicyError, shown } from '../errors.ts';
import { checkDistinct } from '../policy.ts';
import { answer } from './answer.ts';
import { asError } from './as-error.ts';
import type { Asked } from './asker.ts';
import { Asking } from './asking.ts';
import { Decider, type Finish } from './decider.ts';
import { Doctor } from './doctor.ts';
import { PASS, withoutDecision, type Enforcement } from './enforcement.ts';
import type { Framework, RawRequest } from './framework.ts';
import { Layer } from './layer.ts';
import type { RateLimitOptions } from './options.ts';
import { isPreflight } from './preflight.ts';
import { quietly } from './quietly.ts';
import type { Sighting } from './sighting.ts';

/**
 * Decides about requests, over one layer of limits or over several as one decision: everything is taken, or nothing, in
 * one round trip. The innermost layer that limits a request says how it is answered.
 */
export class Enforcer<Request, Response> {
  readonly #layers: readonly Layer<Request, Response>[];
  /** The only layer, where it is one that enforces. */
  readonly #only: Layer<Request, Response> | undefined;
  readonly #framework: Framework<Request, Response>;
  readonly #doctor: Doctor<Request, Response>;
  /** Whether the address has to be read ahead of all else. */
  readonly #readsAddress: boolean;
  readonly #decider: Decider<Request, Response>;
  readonly #answer: Finish<Request, Response, boolean>;

  /**
   * @param layers - The outermost first; made and claimed.
   * @throws PolicyError when their limits cannot be decided together: two of one name, or different stores.
   */
  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    checkTogether(layers);
    const [first] = layers;
    this.#layers = layers;
    this.#only = layers.length === 1 && first?.reports === false ? first : undefined;
    this.#framework = framework;
    this.#doctor = new Doctor(framework);
    this.#readsAddress = first?.readsAddressFirst !== true;
    this.#decider = new Decider(layers, framework);
    this.#answer = (enforcement, request, response) => answer(framework, enforcement, request, response);
  }

  /**
   * Decides, writes the header fields, and answers a request that is refused. Answers whether the request goes on: in this
   * very tick, where the store and the functions of the user answer at once.
   *
   * Each layer sees a request once: a middleware that is mounted twice counts once.
   *
   * @throws (or rejects) what the functions of the user throw; StoreError, when `onStoreError` says so; RateLimitError for a
   * refusal, with `throw: true`.
   */
  limit(request: Request, response: Response): boolean | Promise<boolean> {
    return this.#run(request, response, this.#answer);
  }

  /**
   * As {@link limit}, for a framework that hands out a callback: calls it when the request goes on, or with the error; not at
   * all when the request has been answered. What it throws by itself is not caught here.
   */
  limitThen(request: Request, response: Response, next: (error?: unknown) => void): void {
    let passes: boolean | Promise<boolean>;
    try {
      passes = this.#run(request, response, this.#answer);
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

  /** The first half of {@link limit}: decides, and writes nothing. */
  enforce(
    request: Request,
    response: Response,
  ): Enforcement<Request, Response> | Promise<Enforcement<Request, Response>> {
    return this.#run(request, response, itself);
  }

  #run<Result>(
    request: Request,
    response: Response,
    finish: Finish<Request, Response, Result>,
  ): Result | Promise<Result> {
    const raw = this.#framework.rawRequest(request);
    const only = this.#only;
    if (only === undefined) return this.#runTogether(raw, request, response, finish);
    const sighting = only.notices(raw);
    if (sighting === undefined || isPreflight(this.#framework, request)) return finish(PASS, request, response);
    this.#examine(request, raw);
    const asked = only.ask(request, sighting);
    return asked instanceof Promise
      ? asked.then((asking) => this.#decider.decideOne(only, asking, request, response, finish))
      : this.#decider.decideOne(only, asked, request, response, finish);
  }

  #examine(request: Request, raw: RawRequest): void {
    // The address is read before anything is waited for, and remembered by the socket: it cannot be asked once the client
    // is gone.
    if (this.#readsAddress) this.#framework.address(request);
    this.#doctor.examine(request, raw);
  }

  #runTogether<Result>(
    raw: RawRequest,
    request: Request,
    response: Response,
    finish: Finish<Request, Response, Result>,
  ): Result | Promise<Result> {
    const seen: Seen<Request, Response>[] = [];
    for (const layer of this.#layers) {
      const sighting = layer.notices(raw);
      if (sighting !== undefined) seen.push({ layer, sighting });
    }
    if (seen.length === 0 || isPreflight(this.#framework, request)) return finish(PASS, request, response);
    this.#examine(request, raw);
    return this.#askFrom(0, { seen, enforced: [], reported: [], request, response }, finish);
  }

  #askFrom<Result>(
    start: number,
    question: Question<Request, Response>,
    finish: Finish<Request, Response, Result>,
  ): Result | Promise<Result> {
    const { seen, enforced, reported, request, response } = question;
    for (let i = start; i < seen.length; i++) {
      const { layer, sighting } = seen[i] as Seen<Request, Response>;
      const asked = layer.reports ? quietly(() => layer.ask(request, sighting)) : layer.ask(request, sighting);
      if (asked instanceof Promise) {
        return asked.then((late) => {
          const refusal = sort(layer, late, question);
          return refusal === undefined ? this.#askFrom(i + 1, question, finish) : finish(refusal, request, response);
        });
      }
      const refusal = sort(layer, asked, question);
      if (refusal !== undefined) return finish(refusal, request, response);
    }
    return this.#decider.decideTogether(enforced, reported, request, response, finish);
  }
}

/**
 * An enforcer of one layer: what `rateLimit(options)` of an adapter is.
 *
 * @param options - What the user gave, unchecked. `ownOptions` names those of them that the adapter itself understands.
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

/** A layer that has not seen the request before. */
interface Seen<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly sighting: Sighting;
}

/** A request that several layers are asked about. */
interface Question<Request, Response> {
  readonly seen: readonly Seen<Request, Response>[];
  readonly enforced: Asking<Request, Response>[];
  readonly reported: Asking<Request, Response>[];
  readonly request: Request;
  readonly response: Response;
}

/** Adds what a layer asks for to that of its kind; or answers that the request is refused. */
function sort<Request, Response>(
  layer: Layer<Request, Response>,
  asked: Asked<Request, Response>,
  { enforced, reported }: Question<Request, Response>,
): Enforcement<Request, Response> | undefined {
  if (asked === undefined) return undefined;
  if (!(asked instanceof Asking)) return withoutDecision(layer, asked);
  (layer.reports ? reported : enforced).push(asked);
  return undefined;
}

function itself<T>(enforcement: T): T {
  return enforcement;
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
      `limits that act on one request together are decided in one store, got several in ${together.map(({ name }) => shown(name)).join(' and ')}; give the inner one no store of its own, or say override: true there`,
      'SLUICE_OPTION_INVALID',
    );
  }
}
