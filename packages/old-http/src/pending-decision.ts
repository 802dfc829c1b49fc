import type { Decision, OnStoreError } from '@sluice/old-core';
import { type LimiterCore, mayPace, type UnresolvedPart } from '@sluice/old-core/spi';
import type { RawRequest, RawResponse } from './framework.ts';
import type { Layer } from './layer.ts';
import type { LimitRequest } from './limit-resolver.ts';
import { NO_KEYS, type FoundKeys } from './request-marks.ts';

/** One decision to make about a request, over everything that its layers ask for. */
export class PendingDecision<Request, Response> {
  /** The request of each layer, the innermost layer last. */
  readonly requests: readonly LimitRequest<Request, Response>[];
  /** The innermost layer, whose options apply. */
  readonly layer: Layer<Request, Response>;
  readonly parts: readonly UnresolvedPart[];
  readonly rawRequest: RawRequest;
  readonly rawResponse: RawResponse;
  readonly #onStoreError: OnStoreError;
  /** When the store is late for all that this request asks, by `performance.now()`. Undefined: `timeoutMs` per call. */
  #endMs: number | undefined;

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
    return this.#decide('consume');
  }

  /** The decision that {@link consume} would make now. */
  peek(): Decision | Promise<Decision> {
    return this.#decide('peek');
  }

  /** Gives all calls that follow one deadline together: a request that peeks first waits `timeoutMs`, not twice. */
  startDeadline(): void {
    this.#endMs ??= performance.now() + this.core.timeoutMs;
  }

  #decide(op: 'consume' | 'peek'): Decision | Promise<Decision> {
    const endMs = this.#endMs;
    const decided = this.core.decide(op, this.parts, this.#onStoreError, endMs);
    if (endMs === undefined || !(decided instanceof Promise)) return decided;
    return decided.then((decision) => {
      if (performance.now() >= endMs - EARLY_MS) this.#endMs = 0; // the store is not asked again
      return decision;
    });
  }

  /** Whether the request may have to wait for its start. */
  get mayPace(): boolean {
    return !this.layer.reports && this.parts.some(({ limit }) => mayPace(limit));
  }

  /** Whether an allowed decision may hold slots. */
  get mayHoldSlots(): boolean {
    return this.parts.some(({ holder }) => holder !== undefined);
  }

  /** The longest time that the request holds its slots: the shortest that a layer with slots sets. */
  get maxSlotMs(): number {
    const holding = this.requests.filter(({ parts }) => parts.some(({ holder }) => holder !== undefined));
    return Math.min(...holding.map(({ layer }) => layer.settings.maxSlotMs));
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

/** Timers may fire so much early. */
const EARLY_MS = 1;

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
