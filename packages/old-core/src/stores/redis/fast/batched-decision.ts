import { consumeKey } from '../../../engine/consume-state.ts';
import type { Decision } from '../../../engine/decision.ts';
import { healedKeys } from '../../../engine/heal-state.ts';
import type { FastHost, OnStoreError } from '../../../engine/fast.ts';
import type { KeyState, Part, Store } from '../../../engine/store.ts';
import { WaitingCoalesced } from './batching/coalesced-batch.ts';
import type { Sent } from './batching/waiting.ts';
import type { DenialCache } from './denial-cache.ts';
import { warnOfStateAhead } from './state-ahead.ts';

/** The decision of a request that waits in a batch. */
export class BatchedDecision extends WaitingCoalesced {
  readonly #store: Store;
  readonly #host: FastHost;
  readonly #denialCache: DenialCache | undefined;
  readonly #onStoreError: OnStoreError;
  readonly #resolve: (decision: Decision | Promise<Decision>) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    store: Store,
    host: FastHost,
    denialCache: DenialCache | undefined,
    part: Part,
    timeoutMs: number,
    onStoreError: OnStoreError,
    resolve: (decision: Decision | Promise<Decision>) => void,
    reject: (error: unknown) => void,
  ) {
    super(part, timeoutMs);
    this.#store = store;
    this.#host = host;
    this.#denialCache = denialCache;
    this.#onStoreError = onStoreError;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  decide(key: KeyState, atMs: number, sent: Sent | undefined): void {
    const { source, showsDenied } = this.#store;
    let decision = consumeKey(this, key, atMs, source);
    if (sent === undefined) return;
    const cut = !decision.allowed && key.isAhead === true ? deniedOnceHealed(this, key, atMs, source) : undefined;
    if (cut !== undefined) decision = cut;
    else if (!decision.allowed) {
      this.#denialCache?.remember(this, key, atMs, sent);
      if (showsDenied === true) warnOfStateAhead(this.#host.name, this.limit, key.states, decision);
    }
    this.#host.receipts.writeLazily(decision, this.limit, this.subject);
    this.#resolve(decision);
    this.#host.inFlight.end();
  }

  /** Also where it was never sent. */
  fail(error: unknown): void {
    const { limit, subject, cost } = this;
    try {
      this.#resolve(this.#host.fallback({ limit, subject, cost }, error, this.#onStoreError));
    } catch (failure) {
      this.#reject(failure);
    }
    this.#host.inFlight.end();
  }
}

/**
 * The decision of a denied request, by the state as `heal` will have cut it by the next one. Undefined where nothing is
 * cut, and where the request would be allowed then.
 */
function deniedOnceHealed(part: Part, key: KeyState, atMs: number, source: Store['source']): Decision | undefined {
  const [healed] = healedKeys([part], [key], atMs) ?? [];
  const decision = healed === undefined ? undefined : consumeKey(part, healed, atMs, source);
  return decision?.allowed === true ? undefined : decision;
}
