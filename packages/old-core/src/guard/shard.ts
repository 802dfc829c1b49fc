import type { Breaker } from './breaker.ts';
import { Deadline, timeoutError } from './deadline.ts';

/** A part of a store that fails independently. */
export class Shard {
  readonly breaker: Breaker;
  /** The last subject that failed, or was requested since: the one to probe. */
  subject: string;
  readonly #patienceMs: () => number;

  /** @param patienceMs - Returns the longest `timeoutMs` of the limiters that use the store. */
  constructor(breaker: Breaker, subject: string, patienceMs: () => number) {
    this.breaker = breaker;
    this.subject = subject;
    this.#patienceMs = patienceMs;
  }

  /**
   * Records a call that failed for a caller who waited `timeoutMs`. If it only was late, it becomes a failure of the
   * store when the most patient limiter would have given up too, and a success when the store replies before that: a
   * limiter with a short `timeoutMs` must not open the breaker of the others.
   *
   * @param answers - The store's own promise, if it gave one.
   */
  failed(generation: number, error: unknown, timeoutMs: number, answers?: Promise<unknown>): void {
    const { breaker } = this;
    const patienceMs = this.#patienceMs();
    if (answers === undefined || !isTimeout(error) || timeoutMs >= patienceMs) {
      breaker.failed(generation, error);
      return;
    }
    const late = (): void => {
      breaker.failed(generation, timeoutError(patienceMs));
    };
    const deadline = new Deadline(patienceMs - timeoutMs, { abandoned: false }, late, false);
    answers.then(
      () => {
        if (deadline.met()) breaker.succeeded(generation);
      },
      (failure: unknown) => {
        // A call that was abandoned before it was sent tells nothing of the store.
        if (deadline.met() && !isTimeout(failure)) breaker.failed(generation, failure);
      },
    );
  }
}

function isTimeout(error: unknown): boolean {
  return (error as { readonly code?: unknown } | undefined)?.code === 'SLUICE_STORE_TIMEOUT';
}
