import type { Decision } from '@sluice/old-core';
import { reportDecision } from './decision-path.ts';
import type { Framework } from './framework.ts';
import { ignoreReportErrors } from './ignore-report-errors.ts';
import type { Layer } from './layer.ts';
import type { LimitRequest } from './limit-resolver.ts';
import { decidePaced } from './lifecycle/pacing.ts';
import { refundOnResponse } from './lifecycle/refund-on-response.ts';
import { holdUntilClosed } from './lifecycle/slots.ts';
import { mapMaybe } from './map-maybe.ts';
import { PendingDecision } from './pending-decision.ts';
import { planOf, type Decided, type ResponsePlan } from './response-plan.ts';

/**
 * Decides about what the layers of a request ask for, calls `onDecision`, and arranges refunds and the release of
 * slots.
 */
export class Decider<Request, Response> {
  readonly #framework: Framework<Request, Response>;
  /** Whether any layer has the option `refund`. */
  readonly #refunds: boolean;

  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    this.#framework = framework;
    this.#refunds = layers.some(({ settings }) => settings.refund !== undefined);
  }

  /**
   * Makes one decision over what all enforcing layers ask for, and one for each layer that only reports. Synchronous
   * while the store and the functions of the user are.
   */
  decide(
    enforced: readonly LimitRequest<Request, Response>[],
    reported: readonly LimitRequest<Request, Response>[],
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    const layer = enforced.at(-1)?.layer;
    if (reported.length === 0) {
      return mapMaybe(this.#decideOver(enforced, request, response), (decided) => planOf(decided, layer));
    }
    return Promise.all([
      this.#decideOver(enforced, request, response),
      ...reported.map((report) => ignoreReportErrors(() => this.#decideOver([report], request, response))),
    ]).then(([decided, report]) => planOf(decided ?? report, layer));
  }

  #decideOver(
    requests: readonly LimitRequest<Request, Response>[],
    request: Request,
    response: Response,
  ): Decided | Promise<Decided> {
    const innermost = requests.at(-1);
    if (innermost === undefined) return undefined;
    const raw = { request: this.#framework.rawRequest(request), response: this.#framework.rawResponse(response) };
    const pending = new PendingDecision(requests, innermost, raw.request, raw.response);
    const conclude = (decision: Decision): Decided | Promise<Decided> =>
      this.#conclude(pending, decision, request, response);
    if (!pending.mayPace) return mapMaybe(this.#consumeAndHold(pending), conclude);
    return decidePaced(pending, () => this.#consumeAndHold(pending), conclude);
  }

  /** Takes units, and holds the slots among them until the response closes. */
  #consumeAndHold(pending: PendingDecision<Request, Response>): Decision | Promise<Decision> {
    const consumed = pending.consume();
    if (!pending.mayHoldSlots) return consumed;
    return mapMaybe(consumed, (decision) => {
      const { core, rawRequest, rawResponse, maxSlotMs } = pending;
      holdUntilClosed(core, decision, rawRequest, rawResponse, maxSlotMs);
      return decision;
    });
  }

  #conclude(
    pending: PendingDecision<Request, Response>,
    decision: Decision,
    request: Request,
    response: Response,
  ): Decided | Promise<Decided> {
    const { layer, core, requests } = pending;
    if (this.#refunds) refundOnResponse(this.#framework, core, requests, decision, request, response);
    const info = { key: pending.key, decision };
    if (layer.settings.onDecision === undefined) return info;
    return mapMaybe(reportDecision(layer, info, request, response), () => info);
  }
}
