import { StoreError, asStoreError } from '../errors.ts';
import type { Store } from '../stores/store.ts';
import type { Breaker } from './breaker.ts';
import { stopWaiting, type WaitingCall } from './deadlines.ts';

/** How often a first connection is asked whether it may still be waited for. */
const CONNECTION_CHECK_MS = 20;

/** A call of a store that is under way. */
export class StoreCall implements WaitingCall {
  endMs: number;
  hadGrace = false;
  before: WaitingCall | undefined;
  after: WaitingCall | undefined;
  isWaiting = false;
  readonly #store: Store;
  readonly #called: readonly Breaker[];
  readonly #sentMs: number;
  readonly #patienceMs: number;
  readonly #reject: (error: unknown) => void;
  #isConnecting = false;

  constructor(
    store: Store,
    called: readonly Breaker[],
    sentMs: number,
    endMs: number,
    reject: (error: unknown) => void,
  ) {
    this.endMs = endMs;
    this.#store = store;
    this.#called = called;
    this.#sentMs = sentMs;
    this.#patienceMs = endMs - sentMs;
    this.#reject = reject;
  }

  answered(): void {
    const isInTime = stopWaiting(this);
    for (const breaker of this.#called) breaker.answered(isInTime);
  }

  failed(error: unknown): void {
    if (!stopWaiting(this)) return;
    for (const breaker of this.#called) breaker.failed(this.#sentMs, error);
    this.#reject(asStoreError(error));
  }

  giveUp(nowMs: number): void {
    const connectingUntilMs = this.#store.firstConnectionUntil?.() ?? 0;
    if (connectingUntilMs > nowMs) {
      this.#isConnecting = true;
      this.endMs = Math.min(connectingUntilMs, nowMs + CONNECTION_CHECK_MS);
    } else if (this.#isConnecting) {
      this.#isConnecting = false;
      this.endMs = nowMs + this.#patienceMs; // the call was sent when the connection was made
    } else {
      const error = lateError(this.#patienceMs);
      for (const breaker of this.#called) breaker.gaveUp(this.#sentMs, nowMs, error);
      this.#reject(error);
    }
  }
}

export function lateError(ms: number): StoreError {
  return new StoreError(
    'SLUICE_STORE_TIMEOUT',
    `the store did not decide within ${String(Math.round(ms))} ms (timeoutMs); the request may have counted`,
  );
}
