import type { Decision } from '@sluice/old-core';
import { type LimitRef, mayHoldSlots, mayPace } from '@sluice/old-core/spi';
import { argumentOf, type Framework } from './framework.ts';
import type { HttpLimit } from './http-limits.ts';
import type { Layer } from './layer.ts';
import { reportDecision, type DecisionPath } from './decision-path.ts';
import { subjectOf } from './limit-resolver.ts';
import { mapMaybe } from './map-maybe.ts';
import { refundOnResponse } from './lifecycle/refund-on-response.ts';
import { NO_KEYS, type RequestMark } from './request-marks.ts';
import { warnOfMissingKey } from './keys/read-key.ts';
import { missingKeyDenial } from './response/undecided-denials.ts';
import { planOf, planWithoutDecision, type ResponsePlan } from './response-plan.ts';

/** A limit of which only the key differs between requests. */
interface FixedLimit<Request, Response> extends HttpLimit<Request, Response> {
  readonly limit: LimitRef;
  readonly cost: number;
}

/**
 * The short path of the usual request: one layer with one limit, of which only the key differs between requests.
 * There are no lists, no `skip`, no slots and no waiting. With a synchronous key and store, no promise is made.
 */
export class SingleLimitPath<Request, Response> implements DecisionPath<Request, Response, RequestMark> {
  readonly #layer: Layer<Request, Response>;
  readonly #limit: FixedLimit<Request, Response>;
  readonly #framework: Framework<Request, Response>;

  private constructor(
    layer: Layer<Request, Response>,
    limit: FixedLimit<Request, Response>,
    framework: Framework<Request, Response>,
  ) {
    this.#layer = layer;
    this.#limit = limit;
    this.#framework = framework;
  }

  /** The short path over these layers; undefined when their requests need the general path. */
  static over<Request, Response>(
    layers: readonly Layer<Request, Response>[],
    framework: Framework<Request, Response>,
  ): SingleLimitPath<Request, Response> | undefined {
    const [layer] = layers;
    if (layer === undefined || layers.length > 1 || layer.reports || !layer.hasOneKey) return undefined;
    const { settings, lists } = layer;
    if (settings.skip !== undefined || lists.allow !== undefined || lists.deny !== undefined) return undefined;
    const [first] = layer.limits;
    if (first === undefined) return undefined;
    const { limit, cost } = first;
    if (typeof limit === 'function' || typeof cost === 'function' || mayHoldSlots(limit) || mayPace(limit)) {
      return undefined;
    }
    return new SingleLimitPath(layer, { ...first, limit, cost }, framework);
  }

  mark(raw: object): RequestMark | undefined {
    return this.#layer.markOnce(raw);
  }

  decide(
    mark: RequestMark,
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    const key = this.#limit.readKey(request, argumentOf(this.#framework, response));
    return typeof key === 'object'
      ? key.then((late) => this.#consume(late, mark, request, response))
      : this.#consume(key, mark, request, response);
  }

  #consume(
    key: string | undefined,
    mark: RequestMark,
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    const { limit, cost, onMissingKey, expectsMissingKeys } = this.#limit;
    mark.keys = key ?? NO_KEYS;
    if (key === undefined && onMissingKey !== 'shared') {
      if (onMissingKey === 'deny' && !expectsMissingKeys) warnOfMissingKey(this.#layer.name, request);
      return planWithoutDecision(
        this.#layer,
        onMissingKey === 'deny' ? missingKeyDenial(this.#layer.settings.status) : undefined,
      );
    }
    const decision = this.#layer.core.consume(limit, subjectOf(key), cost, key);
    return decision instanceof Promise
      ? decision.then((late) => this.#conclude(key, late, request, response))
      : this.#conclude(key, decision, request, response);
  }

  #conclude(
    key: string | undefined,
    decision: Decision,
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    const layer = this.#layer;
    if (layer.settings.refund !== undefined) {
      const { limit, cost } = this.#limit;
      const parts = [{ limit, subject: subjectOf(key), cost }];
      const requests = [{ layer, parts, keys: key ?? NO_KEYS }];
      refundOnResponse(this.#framework, layer.core, requests, decision, request, response);
    }
    const info = { key: key ?? '', decision };
    if (layer.settings.onDecision === undefined) return planOf(info, layer);
    return mapMaybe(reportDecision(layer, info, request, response), () => planOf(info, layer));
  }
}
