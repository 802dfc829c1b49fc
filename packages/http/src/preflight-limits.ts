import { slidingWindow } from '@sluice/core';
import {
  encodeSubject,
  holdsSlots,
  namePolicy,
  type LimiterCore,
  currentOf,
  isSource,
  type LimitRef,
  type UnresolvedPart,
} from '@sluice/core/spi';
import { reportDecision } from './decision-path.ts';
import { argumentOf, type Framework } from './framework.ts';
import type { HttpLimit } from './http-limits.ts';
import { ignoreReportErrors } from './ignore-report-errors.ts';
import { byIp } from './keys/key-parts.ts';
import type { Layer } from './layer.ts';
import type { LimitRequest } from './limit-resolver.ts';
import { PendingDecision } from './pending-decision.ts';
import { NO_KEYS } from './request-marks.ts';
import { denialOf } from './response/denial.ts';
import { PASS, type ResponsePlan } from './response-plan.ts';

/** Begins the subjects of preflights. Equals the beginning of no other: a key that begins with `#` is hashed. */
const MARK = '#preflight';

const SKIP_FAILED = 'skip failed for a CORS preflight, which counts';
const ON_DECISION_FAILED = 'onDecision failed for a CORS preflight';

/** A limit whose key can be read from a preflight. */
interface PreflightLimit<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly name: string;
  readonly readKey: (request: Request) => string | undefined;
  /** Whether it leaves out a preflight without an address. */
  readonly skipsMissing: boolean;
  /** Undefined while there is none for preflights, such as a managed policy that holds slots. */
  readonly limit: () => LimitRef | undefined;
}

/**
 * The budgets of CORS preflights, beside those of the requests that they announce: the same policies, under keys that
 * no client can send. They take no slot, do not wait, are not refunded, and get no header fields. An error of `skip` or
 * `onDecision`, which may expect a user, fails no preflight.
 */
export class PreflightLimits<Request, Response> {
  readonly #framework: Framework<Request, Response>;
  readonly #layers: readonly Layer<Request, Response>[];
  readonly #limits: readonly PreflightLimit<Request, Response>[];
  #fallback: PreflightLimit<Request, Response> | undefined;

  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    this.#framework = framework;
    this.#layers = layers;
    this.#limits = layers.flatMap((layer) => layer.limits.flatMap((limit) => limitOf(layer, limit)));
  }

  /**
   * Decides about a preflight: takes a unit of every limit, or of none.
   *
   * @throws (rejects) as an enforcer does.
   */
  async decide(request: Request, response: Response): Promise<ResponsePlan<Request, Response>> {
    const address = this.#framework.address(request); // before the first await: it is unknown once the client is gone
    const raw = this.#framework.rawRequest(request);
    const marked = this.#layers.filter((layer) => layer.markOnce(raw) !== undefined && !layer.reports);
    const argument = argumentOf(this.#framework, response);
    const enforced: typeof marked = [];
    for (const layer of marked) {
      if (layer.lists.allow?.hasAddress(address) === true) continue;
      const { skip } = layer.settings;
      const skips = skip === undefined ? undefined : ignoreReportErrors(() => skip(request, argument), SKIP_FAILED);
      if ((await skips) !== true) enforced.push(layer);
    }
    const innermost = enforced.at(-1);
    if (innermost === undefined) return PASS;
    let requests = requestsOf(this.#limits, enforced, request);
    if (requests.length === 0) {
      if (this.#framework.noAddress !== undefined) return PASS; // one budget for all clients could lock them out together
      requests = requestsOf([this.#fallbackOf(innermost)], [innermost], request);
    }
    return this.#consume(requests, request, response);
  }

  async #consume(
    requests: readonly LimitRequest<Request, Response>[],
    request: Request,
    response: Response,
  ): Promise<ResponsePlan<Request, Response>> {
    const innermost = requests.at(-1) as LimitRequest<Request, Response>;
    const { layer } = innermost;
    const raw = { request: this.#framework.rawRequest(request), response: this.#framework.rawResponse(response) };
    const pending = new PendingDecision(requests, innermost, raw.request, raw.response);
    const decision = await pending.consume();
    const info = { key: pending.key, decision };
    await ignoreReportErrors(() => reportDecision(layer, info, request, response), ON_DECISION_FAILED);
    if (decision.allowed) return PASS;
    return { ...PASS, denial: denialOf(decision, undefined, layer.settings.status), settings: layer.settings };
  }

  #fallbackOf(layer: Layer<Request, Response>): PreflightLimit<Request, Response> {
    if (this.#fallback?.layer === layer) return this.#fallback;
    const { read } = byIp<Request>();
    const limit = layer.core.limits.of([namePolicy(slidingWindow({ limit: 600, window: '1m' }), 'preflights')]);
    this.#fallback = {
      layer,
      name: layer.name,
      readKey: (request) => read(request, this.#framework, undefined) as string | undefined,
      skipsMissing: false,
      limit: () => limit,
    };
    return this.#fallback;
  }
}

/** A limit as preflights have it; an empty list if their budget would need more than they have. */
function limitOf<Request, Response>(
  layer: Layer<Request, Response>,
  { name, limit, onMissingKey, readPreflightKey: readKey }: HttpLimit<Request, Response>,
): readonly PreflightLimit<Request, Response>[] {
  if (readKey === undefined || typeof limit === 'function' || layer.reports) return [];
  const current = withoutSlots(layer.core, limit);
  return current === undefined ? [] : [{ layer, name, readKey, skipsMissing: onMissingKey === 'skip', limit: current }];
}

/** The policies of a limit that hold no slots; undefined if all do. */
function withoutSlots(core: LimiterCore, limit: LimitRef): (() => LimitRef | undefined) | undefined {
  if (isSource(limit)) return () => (holdsSlots(currentOf(limit)?.policies ?? []) ? undefined : limit);
  const policies = limit.policies.filter((policy) => !holdsSlots([policy]));
  if (policies.length === 0) return undefined;
  const rest = policies.length === limit.policies.length ? limit : core.limits.of(policies);
  return () => rest;
}

/** The requests of these layers, by the limits that preflights have there. */
function requestsOf<Request, Response>(
  limits: readonly PreflightLimit<Request, Response>[],
  layers: readonly Layer<Request, Response>[],
  request: Request,
): readonly LimitRequest<Request, Response>[] {
  return layers.flatMap((layer) => {
    const parts: UnresolvedPart[] = [];
    const keys: Record<string, string> = {};
    for (const { layer: of, name, readKey, skipsMissing, limit: current } of limits) {
      const limit = of === layer ? current() : undefined;
      const key = limit && readKey(request);
      if (limit === undefined || (key === undefined && skipsMissing)) continue;
      const subject = key === undefined ? MARK : `${MARK}:${encodeSubject(key)}`;
      parts.push({ limit, subject, cost: 1, key: subject });
      keys[name] = subject;
    }
    const [only = NO_KEYS] = Object.values(keys);
    return parts.length === 0 ? [] : [{ layer, parts, keys: layer.hasOneKey ? only : keys }];
  });
}
