import { StoreError } from '../../errors.ts';
import type { StoreCall } from '../../engine/store.ts';

/**
 * The memory that a client of ioredis keeps for a call without a reply, measured: 4 kB for one key, 55 kB for 256 keys.
 */
const CALL_BYTES = 4000;
const KEY_BYTES = 200;
/** Bounds the memory of abandoned calls while a server hangs: some 4000 calls of one key, or 300 of 256. */
export const MOST_ABANDONED_BYTES: number = 16 * 1024 * 1024;
/** How often a call is sent all the same, to find out whether the server replies again. */
const TRY_EVERY_MS = 1000;

/** The record of a call that was sent: pass it to {@link AbandonedCalls.ended}. */
export interface SentCall {
  readonly bytes: number;
  readonly generation: number;
}

/**
 * Counts abandoned calls: calls without a reply that have timed out. Sending stops while they take too much memory.
 */
export class AbandonedCalls {
  readonly #mostBytes: number;
  #bytes = 0;
  /**
   * Goes up whenever the count starts again: calls abandoned in an earlier generation may never get a reply, and no
   * longer count.
   */
  #generation = 0;
  #triedAtMs = 0;

  constructor(mostBytes: number) {
    this.#mostBytes = mostBytes;
  }

  #checkFull(): void {
    const nowMs = performance.now();
    if (nowMs - this.#triedAtMs >= TRY_EVERY_MS) {
      this.#triedAtMs = nowMs;
      return;
    }
    throw new StoreError(
      'SLUICE_STORE_FAILED',
      `calls to Redis have timed out without a reply, and take some ${String(Math.ceil(this.#mostBytes / 2 ** 20))} MB; until Redis replies, one call a second is sent`,
      { kind: 'timeout' },
    );
  }

  /**
   * Call this before sending. The call counts from the moment it is abandoned.
   *
   * @throws StoreError `SLUICE_STORE_FAILED` when too many are.
   */
  sent(waiting: StoreCall | undefined, keys: number): SentCall {
    if (this.#bytes >= this.#mostBytes) this.#checkFull();
    const call = { bytes: CALL_BYTES + keys * KEY_BYTES, generation: this.#generation };
    if (waiting !== undefined) {
      waiting.onAbandoned = () => {
        if (call.generation !== this.#generation) return;
        this.#bytes += call.bytes;
        if (this.#bytes >= this.#mostBytes) this.#triedAtMs = performance.now();
      };
    }
    return call;
  }

  /** Call this when the call has a reply or has failed. */
  ended(waiting: StoreCall | undefined, { bytes, generation }: SentCall, isAnswered: boolean): void {
    if (waiting?.abandoned === true) {
      if (generation === this.#generation) this.#bytes -= bytes;
    } else if (isAnswered && this.#bytes >= this.#mostBytes) {
      this.#bytes = 0;
      this.#generation++;
    }
  }
}
