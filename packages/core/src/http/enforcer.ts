import type { Decision } from '../decision.ts';
import { PolicyError, shown } from '../errors.ts';
import type { OnStoreError } from '../core-options.ts';
import { checkDistinct } from '../policy.ts';
import { warnOnce } from '../warnings.ts';
import { answer, type Enforcement } from './answer.ts';
import { Doctor } from './doctor.ts';
import type { Framework, RateLimitInfo } from './framework.ts';
import { Layer, type Asking } from './layer.ts';
import type { RateLimitOptions } from './options.ts';
import { decideInPace, mayPace } from './pacing.ts';
import { isPreflight } from './preflight.ts';
import { refusalOf } from './problem.ts';
import { settleLater } from './settlement.ts';
import { holdUntilOver } from './slots.ts';
import { callTurns, decideInTurn } from './turns.ts';

const PASS = { fields: [], info: undefined, refusal: undefined } as const;
const GONE = { ...PASS, hasLeft: true } as const;

/** What came of a decision; `left` when the client has left meanwhile, nothing when nothing was asked for. */
type Decided = RateLimitInfo | 'left' | undefined;

/**
 * Decides about requests, over one layer of limits or over several as one decision: everything is taken, or nothing, in
 * one round trip. The innermost layer that limits a request says how it is answered.
 */
export class Enforcer<Request, Response> {
  readonly #layers: readonly Layer<Request, Response>[];
  readonly #framework: Framework<Request, Response>;
  readonly #doctor: Doctor<Request, Response>;
  /** Whether any layer gives units back, and whether any makes requests wait for that. */
  readonly #refunds: boolean;
  readonly #holds: boolean;

  /**
   * @param layers - The outermost first; made and claimed.
   * @throws PolicyError when their limits cannot be decided together: two of one name, or different stores.
   */
  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    checkTogether(layers);
    this.#layers = layers;
    this.#framework = framework;
    this.#doctor = new Doctor(framework);
    this.#refunds = layers.some(({ refund }) => refund !== undefined);
    this.#holds = layers.some(({ refund }) => refund !== undefined && refund.holdMs > 0);
  }

  /**
   * Decides, writes the header fields, and answers a request that is refused. Resolves to whether the request goes on.
   *
   * Each layer sees a request once: a middleware that is mounted twice counts once.
   *
   * @throws (rejects) what the functions of the user throw; StoreError, when `onStoreError` says so; RateLimitError for a
   * refusal, with `throw: true`.
   */
  async limit(request: Request, response: Response): Promise<boolean> {
    return answer(this.#framework, await this.enforce(request, response), request, response);
  }

  /** The first half of {@link limit}: decides, and writes nothing. */
  async enforce(request: Request, response: Response): Promise<Enforcement<Request, Response>> {
    const raw = this.#framework.rawRequest(request);
    const layers = this.#newTo(raw);
    if (layers.length === 0 || isPreflight(this.#framework, request)) return PASS;
    // The address is read before anything is waited for, and remembered by the socket: it cannot be asked once the client
    // is gone.
    this.#framework.address(request);
    this.#doctor.examine(request);

    const enforced: Asking<Request, Response>[] = [];
    const reported: Asking<Request, Response>[] = [];
    for (const layer of layers) {
      const asking = await (layer.reports ? quietly(async () => layer.ask(request)) : layer.ask(request));
      if (asking === undefined) continue;
      if (!('layer' in asking)) return { ...PASS, refusal: asking, options: layer.options };
      (layer.reports ? reported : enforced).push(asking);
    }
    if (reported.length === 0) {
      const decided = this.#decide(enforced, request, response);
      return this.#enforcementOf(decided instanceof Promise ? await decided : decided, enforced);
    }
    const [decided, report] = await Promise.all([
      this.#decide(enforced, request, response),
      ...reported.map((asking) => quietly(async () => this.#decide([asking], request, response))),
    ]);
    return this.#enforcementOf(decided ?? report, enforced);
  }

  /** The layers that have not seen a request before. */
  #newTo(raw: object): readonly Layer<Request, Response>[] {
    const [only] = this.#layers;
    if (this.#layers.length > 1 || only === undefined) return this.#layers.filter((layer) => layer.notices(raw));
    return only.notices(raw) ? this.#layers : [];
  }

  /** @param enforced - None where the decision is a report. */
  #enforcementOf(info: Decided, enforced: readonly Asking<Request, Response>[]): Enforcement<Request, Response> {
    if (info === 'left') return GONE;
    const layer = enforced.at(-1)?.layer;
    if (info === undefined || layer === undefined) return { ...PASS, info };
    const { decision } = info;
    return {
      fields: decision.policies.length === 0 ? [] : layer.writeFields(decision),
      info,
      refusal: decision.allowed ? undefined : refusalOf(decision, layer.slotRetryAfterMs),
      options: layer.options,
    };
  }

  /**
   * One decision over what layers ask for. The application hears of it, and it is given back when its time comes. At once,
   * where the store answers at once: most requests need no promise here.
   */
  #decide(
    askings: readonly Asking<Request, Response>[],
    request: Request,
    response: Response,
  ): Decided | Promise<Decided> {
    const innermost = askings.at(-1);
    if (innermost === undefined) return undefined;
    const { core } = innermost.layer;
    const mode = askings.length === 1 ? core.onStoreError : strictest(askings);
    const parts = askings.length === 1 ? innermost.parts : askings.flatMap((asking) => asking.parts);
    const raw = { request: this.#framework.rawRequest(request), response: this.#framework.rawResponse(response) };
    const take = (): Decision | Promise<Decision | undefined> =>
      this.#holds
        ? decideInTurn((op) => core.decide(op, parts, mode), askings, raw.request, raw.response)
        : core.decide('consume', parts, mode);
    const hold = <Made extends Decision | undefined>(made: Made): Made => {
      holdUntilOver(core, made, raw.request, raw.response, () => {
        callTurns(askings);
      });
      return made;
    };
    const consume = parts.every(({ holder }) => holder === undefined)
      ? take
      : (): Decision | Promise<Decision | undefined> => {
          const made = take();
          return made instanceof Promise ? made.then(hold) : hold(made);
        };
    const conclude = (made: Decision | undefined): Decided | Promise<Decided> =>
      this.#conclude(innermost, askings, made, request, response);
    if (!innermost.layer.reports && mayPace(parts)) {
      return decideInPace(askings, { ...raw, core, peek: () => core.decide('peek', parts, mode), consume, conclude });
    }
    const decision = consume();
    return decision instanceof Promise ? decision.then(conclude) : conclude(decision);
  }

  #conclude(
    { layer, keys }: Asking<Request, Response>,
    askings: readonly Asking<Request, Response>[],
    decision: Decision | undefined,
    request: Request,
    response: Response,
  ): Decided | Promise<Decided> {
    if (decision === undefined) return 'left';
    if (this.#refunds) settleLater(this.#framework, layer.core, askings, decision, request, response);
    const key =
      askings.length === 1 && layer.hasOneKey
        ? (keys[layer.name] ?? '')
        : Object.fromEntries(askings.flatMap((asking) => Object.entries(asking.keys)));
    const info = { key, decision };
    return layer.options.onDecision === undefined ? info : this.#tell(layer, info, request);
  }

  async #tell({ options }: Layer<Request, Response>, info: RateLimitInfo, request: Request): Promise<RateLimitInfo> {
    await options.onDecision?.(info.decision, { key: info.key, request });
    return info;
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

/** What only reports fails no request, whatever its functions throw. */
async function quietly<T>(report: () => Promise<T>): Promise<T | undefined> {
  try {
    return await report();
  } catch (error) {
    warnOnce(
      'SLUICE_REPORT_FAILED',
      `a limit that only reports could not decide, and let the request pass: ${error instanceof Error ? error.message : String(error)}`,
    );
    return undefined;
  }
}

/** How strict an answer to a store that fails is. */
const STRICTNESS: Readonly<Record<OnStoreError, number>> = { allow: 0, local: 1, deny: 2, throw: 3 };

/** What is done for all layers while the store is away: nobody gets more than each of them would give. */
function strictest<Request, Response>(askings: readonly Asking<Request, Response>[]): OnStoreError {
  return askings
    .map(({ layer }) => layer.core.onStoreError)
    .reduce((strict, mode) => (STRICTNESS[mode] > STRICTNESS[strict] ? mode : strict));
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
