import { Decider } from './decider.ts';
import type { DecisionPath } from './decision-path.ts';
import type { Framework, RawRequest } from './framework.ts';
import { ignoreReportErrors } from './ignore-report-errors.ts';
import type { Layer } from './layer.ts';
import { LimitResolver, type LimitRequest, type Resolution } from './limit-resolver.ts';
import type { RequestMark } from './request-marks.ts';
import { planWithoutDecision, type ResponsePlan } from './response-plan.ts';

/** A layer that sees a request for the first time. */
interface MarkedLayer<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly resolver: LimitResolver<Request, Response>;
  readonly mark: RequestMark;
}

/** The resolved requests of the layers of a request. */
interface Resolved<Request, Response> {
  readonly request: Request;
  readonly response: Response;
  readonly enforced: LimitRequest<Request, Response>[];
  readonly reported: LimitRequest<Request, Response>[];
}

/**
 * The path of every request that the short path does not take: resolves what each layer asks for, then decides over all of it together. A layer that
 * denies without a decision ends it.
 */
export class GeneralPath<Request, Response> implements DecisionPath<
  Request,
  Response,
  readonly MarkedLayer<Request, Response>[]
> {
  readonly #layers: readonly Omit<MarkedLayer<Request, Response>, 'mark'>[];
  readonly #decider: Decider<Request, Response>;

  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    this.#layers = layers.map((layer) => ({ layer, resolver: new LimitResolver(layer, framework) }));
    this.#decider = new Decider(layers, framework);
  }

  mark(raw: RawRequest): readonly MarkedLayer<Request, Response>[] | undefined {
    const marked: MarkedLayer<Request, Response>[] = [];
    for (const { layer, resolver } of this.#layers) {
      const mark = layer.markOnce(raw);
      if (mark !== undefined) marked.push({ layer, resolver, mark });
    }
    return marked.length === 0 ? undefined : marked;
  }

  decide(
    marked: readonly MarkedLayer<Request, Response>[],
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    return this.#resolveFrom(0, marked, { request, response, enforced: [], reported: [] });
  }

  #resolveFrom(
    start: number,
    marked: readonly MarkedLayer<Request, Response>[],
    resolved: Resolved<Request, Response>,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    const { request, response, enforced, reported } = resolved;
    for (let i = start; i < marked.length; i++) {
      const { layer, resolver, mark } = marked[i] as MarkedLayer<Request, Response>;
      const resolution = layer.reports
        ? ignoreReportErrors(() => resolver.resolve(request, response, mark))
        : resolver.resolve(request, response, mark);
      if (resolution instanceof Promise) {
        return resolution.then((late) => add(layer, late, resolved) ?? this.#resolveFrom(i + 1, marked, resolved));
      }
      const denied = add(layer, resolution, resolved);
      if (denied !== undefined) return denied;
    }
    return this.#decider.decide(enforced, reported, request, response);
  }
}

/** Adds what a layer asks for. Returns the denial of a layer that denies by itself. */
function add<Request, Response>(
  layer: Layer<Request, Response>,
  resolution: Resolution<Request, Response>,
  { enforced, reported }: Resolved<Request, Response>,
): ResponsePlan<Request, Response> | undefined {
  if (resolution === undefined) return undefined;
  if ('status' in resolution) return planWithoutDecision(layer, resolution);
  (layer.reports ? reported : enforced).push(resolution);
  return undefined;
}
