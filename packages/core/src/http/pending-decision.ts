import type { Decision } from '../engine/decision.ts';
import type { LimiterCore } from '../limiter/core.ts';
import type { OnStoreError } from '../limiter/options.ts';
import { mayPace, type UnresolvedPart } from '../managed/resolve.ts';
import type { RawRequest, RawResponse } from './framework.ts';
import type { Layer } from './layer.ts';
import type { LimitRequest } from './limit-resolver.ts';
import { NO_KEYS, type FoundKeys } from './request-marks.ts';

/** One decision to make about a request, over everything that its layers ask for. */
export class PendingDecision<Request, Response> {
  /** What each layer asks for, the innermost layer last. */
  readonly requests: readonly LimitRequest<Request, Response>[];
  /** The innermost layer, whose options apply. */
  readonly layer: Layer<Request, Response>;
  readonly parts: readonly UnresolvedPart[];
  readonly rawRequest: RawRequest;
  readonly rawResponse: RawResponse;
  readonly #onStoreError: OnStoreError;

  constructor(
    requests: readonly LimitRequest<Request, Response>[],
    innermost: LimitRequest<Request, Response>,
    rawRequest: RawRequest,
    rawResponse: RawResponse,
  ) {
    this.requests = requests;
    this.layer = innermost.layer;
    this.parts = requests.length === 1 ? innermost.parts : requests.flatMap(({ parts }) => parts);
    this.rawRequest = rawRequest;
    this.rawResponse = rawResponse;
    this.#onStoreError = requests.length === 1 ? this.layer.core.onStoreError : strictest(requests);
  }

  get core(): LimiterCore {
    return this.layer.core;
  }

  /** Takes the units of every part, or of none. */
  consume(): Decision | Promise<Decision> {
    return this.core.decide('consume', this.parts, this.#onStoreError);
  }

  /** The decision that {@link consume} would make now. */
  peek(): Decision | Promise<Decision> {
    return this.core.decide('peek', this.parts, this.#onStoreError);
  }

  /** Whether the request may have to wait for its start. */
  get mayPace(): boolean {
    return !this.layer.reports && this.parts.some(({ limit }) => mayPace(limit));
  }

  /** Whether an allowed decision may hold slots. */
  get mayHoldSlots(): boolean {
    return this.parts.some(({ holder }) => holder !== undefined);
  }

  /** The key or, for limits with a key each, the keys by the name of their limit. */
  get key(): FoundKeys {
    const [only] = this.requests;
    if (this.requests.length === 1 && only !== undefined) {
      return only.keys === NO_KEYS && this.layer.hasOneKey ? '' : only.keys;
    }
    const keys = this.requests.map(({ layer, keys: own }) => (typeof own === 'string' ? { [layer.name]: own } : own));
    return Object.assign({}, ...keys) as FoundKeys;
  }
}

/** The modes of `onStoreError`, the most permissive first. */
const STRICTNESS: readonly OnStoreError[] = ['allow', 'local', 'deny', 'throw'];

/**
 * While the store fails, all layers follow the strictest of them: a request gets no more than each layer would allow.
 */
function strictest<Request, Response>(requests: readonly LimitRequest<Request, Response>[]): OnStoreError {
  return requests
    .map(({ layer }) => layer.core.onStoreError)
    .reduce((strict, mode) => (STRICTNESS.indexOf(mode) > STRICTNESS.indexOf(strict) ? mode : strict));
}
