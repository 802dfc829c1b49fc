import { slidingWindow } from '@sluice/old-core';
import {
  currentOf,
  encodeSubject,
  holdsSlots,
  isSource,
  namePolicy,
  type LimitRef,
  type LimiterCore,
  type UnresolvedPart,
} from '@sluice/old-core/spi';
import type { Framework } from './framework.ts';
import type { HttpLimit } from './http-limits.ts';
import { byIp, type AddressReader } from './keys/key-parts.ts';
import type { Layer } from './layer.ts';
import type { LimitRequest } from './limit-resolver.ts';
import { mapMaybe } from './map-maybe.ts';
import { PendingDecision } from './pending-decision.ts';
import { NO_KEYS } from './request-marks.ts';
import { denialOf } from './response/denial.ts';
import { PASS, type ResponsePlan } from './response-plan.ts';

/** Begins the subjects of preflights. Equals the beginning of no other: a key that begins with `#` is hashed. */
const MARK = '#preflight';

/** A limit that counts preflights by their address. */
interface PreflightLimit<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly address: AddressReader<Request>;
  /** Undefined while there is none for preflights: a managed policy that holds slots. */
  readonly limit: () => LimitRef | undefined;
}

/**
 * The budget of an address for CORS preflights, beside those of the requests that they ask for: the same policies,
 * under keys that no client can send. They take no slot, do not wait, call no function of the request, and get no
 * header fields.
 */
export class PreflightLimits<Request, Response> {
  readonly #framework: Framework<Request, Response>;
  readonly #layers: readonly Layer<Request, Response>[];
  readonly #limits: readonly PreflightLimit<Request, Response>[];
  #fallback: PreflightLimit<Request, Response> | undefined;

  constructor(layers: readonly Layer<Request, Response>[], framework: Framework<Request, Response>) {
    this.#framework = framework;
    this.#layers = layers.filter(({ reports }) => !reports);
    this.#limits = this.#layers.flatMap((layer) => layer.limits.flatMap((limit) => limitOf(layer, limit)));
  }

  /**
   * Decides about a preflight: takes a unit of every limit, or of none.
   *
   * @throws (or rejects) as an enforcer does.
   */
  decide(
    request: Request,
    response: Response,
  ): ResponsePlan<Request, Response> | Promise<ResponsePlan<Request, Response>> {
    const address = this.#framework.address(request);
    const raw = this.#framework.rawRequest(request);
    const layers = this.#layers.filter(
      (layer) => layer.markOnce(raw) !== undefined && layer.lists.allow?.hasAddress(address) !== true,
    );
    const innermost = layers.at(-1);
    if (innermost === undefined) return PASS;
    let requests = this.#requestsOf(this.#limits, layers, request);
    if (requests.length === 0) {
      if (this.#framework.noAddress !== undefined) return PASS; // one budget for all clients could lock them out together
      requests = this.#requestsOf([this.#fallbackOf(innermost)], [innermost], request);
    }
    const last = requests.at(-1) as LimitRequest<Request, Response>;
    const { settings } = last.layer;
    const pending = new PendingDecision(requests, last, raw, this.#framework.rawResponse(response));
    return mapMaybe(pending.consume(), (decision) =>
      decision.allowed ? PASS : { ...PASS, denial: denialOf(decision, undefined, settings.status), settings },
    );
  }

  /** The requests of these layers, by the limits that preflights have there. */
  #requestsOf(
    limits: readonly PreflightLimit<Request, Response>[],
    layers: readonly Layer<Request, Response>[],
    request: Request,
  ): readonly LimitRequest<Request, Response>[] {
    return layers.flatMap((layer) => {
      const parts: UnresolvedPart[] = [];
      for (const { layer: of, address: part, limit: current } of limits) {
        const limit = of === layer ? current() : undefined;
        if (limit === undefined) continue;
        const address = part.read(request, this.#framework);
        const subject = address === undefined ? MARK : `${MARK}:${encodeSubject(address)}`;
        parts.push({ limit, subject, cost: 1, key: subject });
      }
      return parts.length === 0 ? [] : [{ layer, parts, keys: NO_KEYS }];
    });
  }

  #fallbackOf(layer: Layer<Request, Response>): PreflightLimit<Request, Response> {
    if (this.#fallback?.layer === layer) return this.#fallback;
    const limit = layer.core.limits.of([namePolicy(slidingWindow({ limit: 600, window: '1m' }), 'preflights')]);
    this.#fallback = { layer, address: byIp(), limit: () => limit };
    return this.#fallback;
  }
}

/** A limit as preflights have it; an empty list if they have none of it. */
function limitOf<Request, Response>(
  layer: Layer<Request, Response>,
  { limit, address }: HttpLimit<Request, Response>,
): readonly PreflightLimit<Request, Response>[] {
  if (address === undefined || typeof limit === 'function') return [];
  const current = withoutSlots(layer.core, limit);
  return current === undefined ? [] : [{ layer, address, limit: current }];
}

/** The policies of a limit that hold no slots; undefined if all do. */
function withoutSlots(core: LimiterCore, limit: LimitRef): (() => LimitRef | undefined) | undefined {
  if (isSource(limit)) return () => (holdsSlots(currentOf(limit)?.policies ?? []) ? undefined : limit);
  const policies = limit.policies.filter((policy) => !holdsSlots([policy]));
  if (policies.length === 0) return undefined;
  const rest = policies.length === limit.policies.length ? limit : core.limits.of(policies);
  return () => rest;
}
