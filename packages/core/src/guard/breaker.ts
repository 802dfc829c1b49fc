import { StoreError, isSluiceError, getMessage, type StoreFailureKind } from '../errors.ts';
import type { BreakerState } from '../channels.ts';
import { startTimer, stopTimer, type Timer } from '../platform.ts';

const MAX_FAILURES = 5;
const FIRST_PROBE_MS = 100;
const PROBE_MS = 500;
/** A store that does not answer for this long is failing. */
const SILENCE_MS = 100;
/** A request usually starts at most this long before its call. */
const SLACK_MS = 10;

/** The parts of a guard that its breaker needs. */
export interface BreakerOwner {
  /** Whether no limiter needs probes any more. */
  readonly isUnused: boolean;
  /** Rejects while the store still fails. */
  probe(): Promise<unknown>;
  changed(previous: BreakerState): void;
  /** Warns that calls fail: once for each kind of failure. */
  warn(): void;
}

/**
 * A circuit breaker: after five failures in a row it rejects calls at once, so that a dead store costs microseconds.
 * Probes run in the background, on a timer that keeps no process alive: no request waits for one.
 */
export class Breaker {
  readonly #owner: BreakerOwner;
  state: BreakerState = 'closed';
  lastError: unknown;
  #failures = 0;
  /** When the first call was sent since the last answer; 0 if there was none. */
  #silentSinceMs = 0;
  /** Failures of calls that were sent before the last change of state are ignored. */
  #changedMs = 0;
  #timer: Timer | undefined;

  constructor(owner: BreakerOwner) {
    this.#owner = owner;
  }

  /** The error of a call that is skipped because the breaker is not closed. */
  rejection(): StoreError {
    const message = `the circuit breaker is open, so the store was not called; the last failure was: ${this.whyOpen}`;
    return new StoreError('SLUICE_BREAKER_OPEN', message, { cause: this.lastError });
  }

  /** The last failure, without its code. */
  get whyOpen(): string {
    return getMessage(this.lastError).replace(/ \[SLUICE_[A-Z_]+\]$/, '');
  }

  sent(nowMs: number): void {
    if (this.#silentSinceMs === 0) this.#silentSinceMs = nowMs;
  }

  /** @param isInTime - Whether the caller was still waiting. A late answer does not undo a failure. */
  answered(isInTime: boolean): void {
    this.#silentSinceMs = 0;
    if (isInTime) this.#failures = 0;
  }

  failed(sentMs: number, error: unknown): void {
    if (this.state !== 'closed' || sentMs < this.#changedMs || this.#owner.isUnused) return;
    this.lastError = error;
    if (isAnswer(error)) {
      this.answered(true);
      if (readKind(error) === 'denied') this.#owner.warn(); // a wrong token does not pass by itself
      return;
    }
    if (++this.#failures >= MAX_FAILURES) this.#open(FIRST_PROBE_MS);
  }

  /**
   * A call was given up. A wait of at least 100 ms is a failure; a shorter one (a small `timeoutMs`, what a request had
   * left) is one if nothing at all was answered for 100 ms.
   */
  timedOut(sentMs: number, nowMs: number, error: StoreError): void {
    const sinceMs = this.#silentSinceMs === 0 ? nowMs : this.#silentSinceMs;
    if (nowMs - Math.min(sentMs, sinceMs) >= SILENCE_MS - SLACK_MS) this.failed(sentMs, error);
  }

  /** Closes from any state, and stops probing. */
  close(): void {
    stopTimer(this.#timer);
    this.#failures = 0;
    this.#silentSinceMs = 0;
    this.#change('closed');
  }

  #open(probeInMs: number): void {
    this.#timer = startTimer(probeInMs, () => void this.#probe());
    this.#change('open');
  }

  async #probe(): Promise<void> {
    this.#change('half-open');
    const startMs = this.#changedMs;
    const isObsolete = (): boolean => this.state !== 'half-open' || startMs !== this.#changedMs;
    if (isObsolete()) return; // a listener has closed it
    try {
      await this.#owner.probe();
      if (!isObsolete()) this.close();
    } catch (error) {
      if (isObsolete()) return;
      this.lastError = error;
      if (isAnswer(error)) this.close();
      else this.#open(PROBE_MS);
    }
  }

  #change(state: BreakerState): void {
    const previous = this.state;
    this.#changedMs = performance.now();
    this.state = state;
    if (previous !== state) this.#owner.changed(previous);
  }
}

/** Whether this needs a fix, unlike an outage, which passes: the fallback never covers it. */
export function isFault(error: unknown): boolean {
  return isSluiceError(error) && (error.code === 'SLUICE_REDIS_CLIENT_MISSING' || error.name === 'PolicyError');
}

const ANSWERS: readonly unknown[] = [
  'SLUICE_SPLIT_UNCONFIRMED',
  'SLUICE_STORE_KEY_FOREIGN',
  'SLUICE_STORE_REPLY_INVALID',
];

/** Whether this error shows that the store can be reached: waiting does not fix a value, a setting or a token. */
function isAnswer(error: unknown): boolean {
  return isFault(error) || (isSluiceError(error) && ANSWERS.includes(error.code));
}

export function readKind(error: unknown): StoreFailureKind {
  return (isSluiceError(error) ? (error as Partial<StoreError>).kind : undefined) ?? 'other';
}
