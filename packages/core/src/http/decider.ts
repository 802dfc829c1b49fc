import type { OnStoreError } from '../core-options.ts';
import type { Decision } from '../decision.ts';
import type { AskedPart } from '../managed/resolve.ts';
import { Asking } from './asking.ts';
import type { Asked } from './asker.ts';
import { enforcementOf, withoutDecision, type Decided, type Enforcement } from './enforcement.ts';
import { eventually } from './eventually.ts';
import type { Framework, RateLimitInfo } from './framework.ts';
import type { Layer } from './layer.ts';
import { decideInPace, mayPace } from './pacing.ts';
import { quietly } from './quietly.ts';
import { settleLater } from './settlement.ts';
import { NO_KEYS, type FoundKeys } from './sighting.ts';
import { holdUntilOver } from './slots.ts';
import { callTurns, decideInTurn } from './turns.ts';

/** What is done once a request has been decided. */
export type Finish<Request, Response, Result> = (
  enforcement: Enforcement<Request, Response>,
  request: Request,
  response: Response,
) => Result | Promise<Result>;

/** Decides over what layers ask for. The application hears of it, and it is given back when its time comes. */
export class Decider<Request, Response> {
  readonly #framework: Framework<Request, Response>;
  /** Whether any layer gives units back, and whether any makes requests wait for that. */
  readonly #refunds: boolean;
  readonly #holds: boolean;

  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    this.#framework = framework;
    this.#refunds = layers.some(({ refund }) => refund !== undefined);
    this.#holds = layers.some(({ refund }) => refund !== undefined && refund.holdMs > 0);
  }

  decideOne<Result>(
    layer: Layer<Request, Response>,
    asking: Asked<Request, Response>,
    request: Request,
    response: Response,
    finish: Finish<Request, Response, Result>,
  ): Result | Promise<Result> {
    if (!(asking instanceof Asking)) return finish(withoutDecision(layer, asking), request, response);
    if (!asking.isOverAtOnce || this.#holds) return this.decideTogether([asking], [], request, response, finish);
    const { parts } = asking;
    const { core } = layer;
    const part = parts[0] as AskedPart;
    const decision =
      parts.length === 1 ? core.take(part.limit, part.subject, part.cost) : core.decide('consume', parts);
    return decision instanceof Promise
      ? decision.then((made) => this.#finishOne(asking, made, request, response, finish))
      : this.#finishOne(asking, decision, request, response, finish);
  }

  #finishOne<Result>(
    asking: Asking<Request, Response>,
    decision: Decision,
    request: Request,
    response: Response,
    finish: Finish<Request, Response, Result>,
  ): Result | Promise<Result> {
    const { layer } = asking;
    if (this.#refunds) settleLater(this.#framework, layer.core, [asking], decision, request, response);
    const info = { key: keyOf(asking), decision };
    if (layer.options.onDecision === undefined) return finish(enforcementOf(info, layer), request, response);
    return eventually(tell(layer, info, request), () => finish(enforcementOf(info, layer), request, response));
  }

  /** @param reported - What is decided beside it, each for itself. */
  decideTogether<Result>(
    enforced: readonly Asking<Request, Response>[],
    reported: readonly Asking<Request, Response>[],
    request: Request,
    response: Response,
    finish: Finish<Request, Response, Result>,
  ): Result | Promise<Result> {
    const layer = enforced.at(-1)?.layer;
    if (reported.length === 0) {
      return eventually(this.#decide(enforced, request, response), (decided) =>
        finish(enforcementOf(decided, layer), request, response),
      );
    }
    return Promise.all([
      this.#decide(enforced, request, response),
      ...reported.map((asking) => quietly(() => this.#decide([asking], request, response))),
    ]).then(([decided, report]) => finish(enforcementOf(decided ?? report, layer), request, response));
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
    if (!innermost.layer.reports && parts.some(({ limit }) => mayPace(limit))) {
      return decideInPace(askings, { ...raw, core, peek: () => core.decide('peek', parts, mode), consume, conclude });
    }
    return eventually(consume(), conclude);
  }

  #conclude(
    innermost: Asking<Request, Response>,
    askings: readonly Asking<Request, Response>[],
    decision: Decision | undefined,
    request: Request,
    response: Response,
  ): Decided | Promise<Decided> {
    if (decision === undefined) return 'left';
    const { layer } = innermost;
    if (this.#refunds) settleLater(this.#framework, layer.core, askings, decision, request, response);
    const info = { key: askings.length === 1 ? keyOf(innermost) : keysOf(askings), decision };
    return layer.options.onDecision === undefined ? info : eventually(tell(layer, info, request), () => info);
  }
}

/** The key as it stands on the request afterwards. */
function keyOf<Request, Response>({ layer, keys }: Asking<Request, Response>): FoundKeys {
  return keys === NO_KEYS && layer.hasOneKey ? '' : keys;
}

/** Where several layers decided, the keys by the name of their limit. */
function keysOf<Request, Response>(askings: readonly Asking<Request, Response>[]): FoundKeys {
  const keys = askings.map(({ layer, keys: own }) => (typeof own === 'string' ? { [layer.name]: own } : own));
  return Object.assign({}, ...keys) as FoundKeys;
}

function tell<Request, Response>(
  { options }: Layer<Request, Response>,
  { key, decision }: RateLimitInfo,
  request: Request,
): unknown {
  return options.onDecision?.(decision, { key, request });
}

/** How strict an answer to a store that fails is. */
const STRICTNESS: Readonly<Record<OnStoreError, number>> = { allow: 0, local: 1, deny: 2, throw: 3 };

/** What is done for all layers while the store is away: nobody gets more than each of them would give. */
function strictest<Request, Response>(askings: readonly Asking<Request, Response>[]): OnStoreError {
  return askings
    .map(({ layer }) => layer.core.onStoreError)
    .reduce((strict, mode) => (STRICTNESS[mode] > STRICTNESS[strict] ? mode : strict));
}
