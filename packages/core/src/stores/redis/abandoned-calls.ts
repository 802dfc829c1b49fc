import { StoreError } from '../../errors.ts';
import type { StoreCall } from '../../engine/store.ts';

/** Bounds the memory of abandoned calls while a server hangs: a call takes about 6 kB, one of 256 keys 25 kB. */
const MOST_ABANDONED = 10_000;
/** How often a call is sent all the same, to find out whether the server replies again. */
const TRY_EVERY_MS = 1000;

/**
 * Counts abandoned calls: calls without a reply that have timed out. Sending stops while there are too many of them.
 */
export class AbandonedCalls {
  #abandoned = 0;
  /**
   * Goes up whenever the count starts again: calls abandoned in an earlier generation may never get a reply, and no
   * longer count.
   */
  #generation = 0;
  #triedAtMs = 0;

  /** @throws StoreError `SLUICE_STORE_FAILED` when there are too many. */
  check(): void {
    if (this.#abandoned < MOST_ABANDONED) return;
    const nowMs = performance.now();
    if (nowMs - this.#triedAtMs >= TRY_EVERY_MS) {
      this.#triedAtMs = nowMs;
      return;
    }
    throw new StoreError(
      'SLUICE_STORE_FAILED',
      `${String(MOST_ABANDONED)} calls to Redis have timed out without a reply; until Redis replies, one call a second is sent`,
      { kind: 'timeout' },
    );
  }

  /**
   * Call this before sending. The call counts from the moment it is abandoned. Returns the generation to pass to
   * {@link ended}.
   */
  sent(waiting: StoreCall | undefined): number {
    const generation = this.#generation;
    if (waiting !== undefined) {
      waiting.onAbandoned = () => {
        if (generation === this.#generation && ++this.#abandoned === MOST_ABANDONED)
          this.#triedAtMs = performance.now();
      };
    }
    return generation;
  }

  /** Call this when the call has a reply or has failed. */
  ended(waiting: StoreCall | undefined, generation: number, isAnswered: boolean): void {
    if (waiting?.abandoned === true) {
      if (generation === this.#generation) this.#abandoned--;
    } else if (isAnswered && this.#abandoned >= MOST_ABANDONED) {
      this.#abandoned = 0;
      this.#generation++;
    }
  }
}
