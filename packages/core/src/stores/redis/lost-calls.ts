import { StoreError } from '../../errors.ts';
import type { StoreCall } from '../store.ts';

/** A server that hangs must not fill this process's memory with calls that nobody waits for: some 6 kB each, 25 kB of 256 keys. */
const MOST_LOST = 10_000;
/** How often one is sent all the same, to find out whether the server answers again. */
const TRY_EVERY_MS = 1000;

/** Counts the calls that are unanswered and that nobody waits for any more, and ends sending when they are too many. */
export class LostCalls {
  #lost = 0;
  /** Counts beginnings anew: what was lost before then may never be answered, and is no news. */
  #era = 0;
  #triedAtMs = 0;

  /** @throws StoreError `SLUICE_STORE_FAILED` when there are too many. */
  check(): void {
    if (this.#lost < MOST_LOST) return;
    const nowMs = performance.now();
    if (nowMs - this.#triedAtMs >= TRY_EVERY_MS) {
      this.#triedAtMs = nowMs;
      return;
    }
    throw new StoreError(
      'SLUICE_STORE_FAILED',
      `Redis has left ${String(MOST_LOST)} calls unanswered that nobody waits for any more; until it answers, one a second is sent`,
      { kind: 'timeout' },
    );
  }

  /** To be called before a call is sent, which counts from when nobody waits for it any more. Answers what {@link ended} is to be given. */
  sent(waiting: StoreCall | undefined): number {
    const era = this.#era;
    if (waiting !== undefined) {
      waiting.onAbandoned = () => {
        if (era === this.#era && ++this.#lost === MOST_LOST) this.#triedAtMs = performance.now();
      };
    }
    return era;
  }

  /** It was answered, or failed. */
  ended(waiting: StoreCall | undefined, era: number, isAnswered: boolean): void {
    if (waiting?.abandoned === true) {
      if (era === this.#era) this.#lost--;
    } else if (isAnswered && this.#lost >= MOST_LOST) {
      this.#lost = 0;
      this.#era++;
    }
  }
}
