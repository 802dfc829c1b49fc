import {
  checkCost,
  newHolder,
  encodeSubject,
  mayHoldSlots,
  type LimitRef,
  type UnresolvedPart,
} from '@sluice/old-core/spi';
import type { HttpLimit } from './http-limits.ts';
import { mapMaybe } from './map-maybe.ts';
import { argumentOf, type Framework } from './framework.ts';
import type { Layer } from './layer.ts';
import type { Denial } from './response/denial.ts';
import { forbiddenDenial, missingKeyDenial } from './response/undecided-denials.ts';
import { warnOfMissingKey } from './keys/read-key.ts';
import { NO_KEYS, type FoundKeys, type RequestMark } from './request-marks.ts';

/** The request of a layer to its limits. */
export interface LimitRequest<Request, Response> {
  readonly layer: Layer<Request, Response>;
  readonly parts: readonly UnresolvedPart[];
  readonly keys: FoundKeys;
}

/** The request of a layer; its denial; or undefined if it does not limit the request. */
export type Resolution<Request, Response> = LimitRequest<Request, Response> | Denial | undefined;

/** Equals the subject of no key: those that begin with `#` are hashes, and longer. */
const MISSING_SUBJECT = '#missing';

/** The state of a request while its limits are resolved. */
interface Progress<Request, Response> {
  readonly request: Request;
  readonly response: Response;
  readonly mark: RequestMark;
  readonly parts: UnresolvedPart[];
  /** The one key, or the keys by the name of their limit. */
  key: string | undefined;
  readonly keys: Record<string, string>;
  /** The address is on the `allow` list: only a key on the `deny` list can still deny the request. */
  readonly isAllowed: boolean;
  isMissing: boolean;
}

/**
 * Finds out what a layer asks for: whether the client is on a list or skipped, and the key, cost and policy of each
 * limit. Synchronous, unless a function of the user returns a promise.
 */
export class LimitResolver<Request, Response> {
  readonly #layer: Layer<Request, Response>;
  readonly #framework: Framework<Request, Response>;

  constructor(layer: Layer<Request, Response>, framework: Framework<Request, Response>) {
    this.#layer = layer;
    this.#framework = framework;
  }

  resolve(
    request: Request,
    written: Response,
    mark: RequestMark,
  ): Resolution<Request, Response> | Promise<Resolution<Request, Response>> {
    const response = argumentOf(this.#framework, written);
    const { allow, deny } = this.#layer.lists;
    let isAllowed = false;
    if (deny !== undefined || allow !== undefined) {
      const address = this.#framework.address(request);
      if (deny?.hasAddress(address) === true) return forbiddenDenial(this.#layer.settings.status);
      isAllowed = allow?.hasAddress(address) === true;
      if (isAllowed && deny?.hasKeys !== true) return undefined;
    }
    const progress: Progress<Request, Response> = {
      request,
      response,
      mark,
      isAllowed,
      parts: [],
      key: undefined,
      keys: {},
      isMissing: false,
    };
    const { skip } = this.#layer.settings;
    return skip === undefined
      ? this.#resolveFrom(0, progress)
      : mapMaybe(skip(request, response), (skips) => (skips ? undefined : this.#resolveFrom(0, progress)));
  }

  #resolveFrom(
    start: number,
    progress: Progress<Request, Response>,
  ): Resolution<Request, Response> | Promise<Resolution<Request, Response>> {
    const { limits } = this.#layer;
    for (let i = start; i < limits.length; i++) {
      const limit = limits[i] as HttpLimit<Request, Response>;
      const key = limit.readKey(progress.request, progress.response);
      const denial =
        typeof key === 'object'
          ? key.then((late) => this.#resolveLimit(limit, late, progress))
          : this.#resolveLimit(limit, key, progress);
      if (denial instanceof Promise) return denial.then((denied) => denied ?? this.#resolveFrom(i + 1, progress));
      if (denial !== undefined) return denial;
    }
    return this.#conclude(progress);
  }

  /** Adds what one limit asks for. Returns the denial of a client on the `deny` list. */
  #resolveLimit(
    limit: HttpLimit<Request, Response>,
    key: string | undefined,
    progress: Progress<Request, Response>,
  ): Denial | undefined | Promise<Denial | undefined> {
    const { allow, deny } = this.#layer.lists;
    if (key === undefined) {
      if (limit.onMissingKey === 'skip') return undefined;
      progress.isMissing ||= limit.onMissingKey === 'deny';
      if (limit.onMissingKey === 'deny' && !limit.expectsMissingKeys)
        warnOfMissingKey(this.#layer.name, progress.request);
    } else {
      if (deny?.hasKey(key) === true) return forbiddenDenial(this.#layer.settings.status);
      if (this.#layer.hasOneKey) progress.key = key;
      else progress.keys[limit.name] = key;
      // Lifts this limit alone: the keys of other limits may be ones that any client can send.
      if (allow?.hasKey(key) === true) return undefined;
    }
    // Nothing is taken, but a later key may still be on a list.
    if (progress.isAllowed || progress.isMissing) return undefined;
    if (typeof limit.cost === 'number') return addPart(limit, key, limit.cost, progress);
    return mapMaybe(limit.cost(progress.request, progress.response), (cost) => {
      checkCost(cost);
      return cost === 0 ? undefined : addPart(limit, key, cost, progress);
    });
  }

  #conclude({
    mark,
    key,
    keys,
    parts,
    isAllowed,
    isMissing,
  }: Progress<Request, Response>): Resolution<Request, Response> {
    const found: FoundKeys = this.#layer.hasOneKey ? (key ?? NO_KEYS) : keys;
    mark.keys = found;
    if (isAllowed) return undefined;
    if (isMissing) return this.#denyMissing();
    return parts.length === 0 ? undefined : { layer: this.#layer, parts, keys: found };
  }

  #denyMissing(): Denial | undefined {
    return this.#layer.reports ? undefined : missingKeyDenial(this.#layer.settings.status);
  }
}

/** The subject of a key in the store; requests without a key share one. */
export function subjectOf(key: string | undefined): string {
  return key === undefined ? MISSING_SUBJECT : encodeSubject(key);
}

/** Adds what one limit asks for, once its policy is known. */
function addPart<Request, Response>(
  { limit }: HttpLimit<Request, Response>,
  key: string | undefined,
  cost: number,
  { request, response, parts }: Progress<Request, Response>,
): undefined | Promise<undefined> {
  if (typeof limit !== 'function') {
    parts.push(partOf(limit, key, cost));
    return undefined;
  }
  return mapMaybe(limit(request, response), (picked) => {
    parts.push(partOf(picked, key, cost));
    return undefined;
  });
}

function partOf(limit: LimitRef, key: string | undefined, cost: number): UnresolvedPart {
  const part = { limit, subject: subjectOf(key), cost, key };
  return mayHoldSlots(limit) ? { ...part, holder: newHolder() } : part;
}
