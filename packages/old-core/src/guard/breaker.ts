import { detached } from '../platform/detached.ts';
import { StoreError, asStoreError, isFault } from '../errors.ts';
import type { BreakerState } from '../engine/store.ts';

/** The settings of a breaker. */
export interface BreakerSettings {
  readonly failures: number;
  readonly probeEveryMs: number;
  /** Rejects while the store still fails. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (state: BreakerState, previous: BreakerState, cause: unknown) => void;
}

/** The number of probes without a request in between after which probing rests, and the next request is the probe. */
const IDLE_PROBES = 120;
const FIRST_PROBE = 1 / 5;

/**
 * A circuit breaker: after repeated failures it rejects calls at once, so that a dead store costs microseconds.
 * Probes run in the background, on a timer that keeps no process alive: no request waits for one, except the first
 * after the breaker's rest.
 */
export class Breaker {
  readonly #settings: BreakerSettings;
  #state: BreakerState = 'closed';
  #failures = 0;
  /** Counts openings and closings. Results of calls from an earlier generation are ignored. */
  #generation = 0;
  #lastError: unknown;
  #timer: NodeJS.Timeout | undefined;
  /** Probes since the last request. */
  #idleProbes = 0;
  #isResting = false;

  constructor(settings: BreakerSettings) {
    this.#settings = settings;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether the next request reaches the store. */
  get isPassing(): boolean {
    return this.#state === 'closed' || this.#isResting;
  }

  /**
   * Called before each call of the store. Returns the generation that {@link succeeded} or {@link failed} takes.
   *
   * @throws StoreError `SLUICE_BREAKER_OPEN`: the store must not be called.
   */
  enter(): number {
    this.#idleProbes = 0;
    if (this.#state === 'closed' || this.#isResting) {
      this.#isResting = false;
      return this.#generation;
    }
    throw new StoreError(
      'SLUICE_BREAKER_OPEN',
      `the circuit breaker is open, so the store gets no calls; its last failure: ${withoutCode(asStoreError(this.#lastError).message)}`,
      { cause: this.#lastError },
    );
  }

  succeeded(generation: number): void {
    if (generation !== this.#generation) return;
    if (this.#state === 'closed') this.#failures = 0;
    else this.reset();
  }

  /** A fault counts as an answer: waiting does not mend a wrong setting, so each caller gets the error. */
  failed(generation: number, error: unknown): void {
    if (isFault(error)) {
      this.succeeded(generation);
      return;
    }
    if (generation !== this.#generation) return;
    this.#lastError = error;
    if (this.#state === 'closed' && ++this.#failures < this.#settings.failures) return;
    const opening = ++this.#generation;
    const { probeEveryMs } = this.#settings;
    const waitMs = this.#state === 'closed' ? probeEveryMs * FIRST_PROBE : probeEveryMs;
    this.#change('open');
    if (opening !== this.#generation) return; // a listener has closed it
    this.#timer = detached(() =>
      setTimeout(() => {
        this.#probe();
      }, waitMs).unref(),
    );
  }

  /** Closes from any state, and ends probing. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#generation++;
    this.#failures = 0;
    this.#isResting = false;
    this.#change('closed');
  }

  #probe(): void {
    this.#isResting = this.#idleProbes++ >= IDLE_PROBES;
    const generation = this.#generation;
    this.#change('half-open');
    if (this.#isResting || generation !== this.#generation) return;
    this.#settings.probe().then(
      () => {
        this.succeeded(generation);
      },
      (error: unknown) => {
        this.failed(generation, error);
      },
    );
  }

  #change(state: BreakerState): void {
    const previous = this.#state;
    if (previous === state) return;
    this.#state = state;
    this.#settings.onChange(state, previous, this.#lastError);
  }
}

function withoutCode(message: string): string {
  return message.replace(/ \[SLUICE_[A-Z_]+\]$/, '');
}
