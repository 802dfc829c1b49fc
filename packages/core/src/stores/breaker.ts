import { StoreError, asStoreError } from '../errors.ts';

/**
 * `closed`: the store is asked. `open`: it failed too often, and is not asked. `half-open`: a probe is on its way that
 * closes the breaker if it succeeds; or, when nobody has asked for long, the next request is to be that probe.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** When decisions stop waiting for a store that fails, and how they start again. */
export interface BreakerOptions {
  /** Failures in a row, late answers included, that open the breaker. Default 5. */
  readonly failures?: number;
  /**
   * How long after a probe has failed the next one is sent, in milliseconds; one at a time. The first one comes after a
   * fifth of that: a connection that was reset is back by then. Default 500.
   */
  readonly probeEveryMs?: number;
}

/** What a breaker is told when it is made. */
export interface BreakerParts {
  readonly failures: number;
  readonly probeEveryMs: number;
  /** Rejects when the store still fails. */
  readonly probe: () => Promise<unknown>;
  readonly onChange: (state: BreakerState, previous: BreakerState, cause: unknown) => void;
}

/** After so many probes that nobody asked in between, probing rests, and the next request is the probe. */
const IDLE_PROBES = 120;
const FIRST_PROBE = 1 / 5;

/**
 * A circuit breaker: after repeated failures a store is not asked any more, so that a dead one costs microseconds.
 * Probes run in the background, on a timer that keeps no process alive: no request waits for one, but the first after
 * the breaker's rest.
 */
export class Breaker {
  readonly #parts: BreakerParts;
  #state: BreakerState = 'closed';
  #failures = 0;
  /** Counts openings and closings: what a call of an earlier time reports is no news. */
  #epoch = 0;
  #lastError: unknown;
  #timer: NodeJS.Timeout | undefined;
  /** Probes since somebody asked. */
  #unasked = 0;
  #isResting = false;

  constructor(parts: BreakerParts) {
    this.#parts = parts;
  }

  get state(): BreakerState {
    return this.#state;
  }

  /** Whether the next request is let through. */
  get lets(): boolean {
    return this.#state === 'closed' || this.#isResting;
  }

  /**
   * To be called before the store is asked. Answers what {@link succeeded} or {@link failed} is to be given then.
   *
   * @throws StoreError `SLUICE_BREAKER_OPEN`: the store is not to be asked.
   */
  enter(): number {
    this.#unasked = 0;
    if (this.lets) {
      this.#isResting = false;
      return this.#epoch;
    }
    throw new StoreError(
      'SLUICE_BREAKER_OPEN',
      `the store is not asked, for it keeps failing, and last with: ${withoutCode(asStoreError(this.#lastError).message)}`,
      { cause: this.#lastError },
    );
  }

  succeeded(epoch: number): void {
    if (epoch !== this.#epoch) return;
    if (this.#state === 'closed') this.#failures = 0;
    else this.reset();
  }

  failed(epoch: number, error: unknown): void {
    if (epoch !== this.#epoch) return;
    this.#lastError = error;
    if (this.#state === 'closed' && ++this.#failures < this.#parts.failures) return;
    const opening = ++this.#epoch;
    const { probeEveryMs } = this.#parts;
    const waitMs = this.#state === 'closed' ? probeEveryMs * FIRST_PROBE : probeEveryMs;
    this.#change('open');
    if (opening !== this.#epoch) return; // whoever was told has closed it
    this.#timer = setTimeout(() => {
      this.#probe();
    }, waitMs).unref();
  }

  /** Closes, whatever was, and ends probing. */
  reset(): void {
    clearTimeout(this.#timer);
    this.#epoch++;
    this.#failures = 0;
    this.#isResting = false;
    this.#change('closed');
  }

  #probe(): void {
    this.#isResting = this.#unasked++ >= IDLE_PROBES;
    const epoch = this.#epoch;
    this.#change('half-open');
    if (this.#isResting || epoch !== this.#epoch) return;
    this.#parts.probe().then(
      () => {
        this.succeeded(epoch);
      },
      (error: unknown) => {
        this.failed(epoch, error);
      },
    );
  }

  #change(state: BreakerState): void {
    const previous = this.#state;
    if (previous === state) return;
    this.#state = state;
    this.#parts.onChange(state, previous, this.#lastError);
  }
}

function withoutCode(message: string): string {
  return message.replace(/ \[SLUICE_[A-Z_]+\]$/, '');
}
