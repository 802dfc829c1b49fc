import { isGone, onClose } from './disconnect.ts';
import type { RawRequest, RawResponse } from '../framework.ts';
import { RefundLine, type Waiter } from './refund-line.ts';

/** How often the first in a line tries again by itself: refunds of other processes send none. */
const RETRY_MS = 100;
/**
 * Requests that may wait, in total and for one key; further ones do not wait. One client can fill only its own line.
 */
const MAX_WAITING = 1000;
const MAX_WAITING_PER_KEY = 100;

/** Requests that wait, in a line per key, for units that other requests may give back. */
export class RefundQueue {
  readonly #lines = new Map<string, RefundLine>();
  #size = 0;

  /** Whether any request waits for this key. */
  isWaiting(key: string): boolean {
    return this.#lines.has(key);
  }

  /** Whether another request may wait for this key. */
  hasRoomFor(key: string): boolean {
    return this.#size < MAX_WAITING && (this.#lines.get(key)?.size ?? 0) < MAX_WAITING_PER_KEY;
  }

  /** Lets the requests of a key's line try again: units may be free. */
  notify(key: string): void {
    this.#lines.get(key)?.notify();
  }

  /**
   * Waits for the turn of the request, and calls `attempt`, until `deniedCostOf` its result is undefined. At `endMs`
   * (by `performance.now()`) it makes a last attempt.
   *
   * @param cost - What the request costs under this key.
   * @param deniedCostOf - The least cost that the result shows to be denied; undefined if the request waits no longer.
   * @returns Undefined when the client left. No attempt was made after that.
   */
  async wait<T>(
    key: string,
    cost: number,
    endMs: number,
    request: RawRequest,
    response: RawResponse,
    attempt: () => Promise<T>,
    deniedCostOf: (result: T) => number | undefined,
  ): Promise<T | undefined> {
    const waiter: Waiter = { cost, isGone: isGone(request, response), wake: undefined };
    const line = this.#lines.get(key) ?? new RefundLine();
    this.#lines.set(key, line);
    line.add(waiter);
    this.#size++;
    const stopListening = onClose(request, response, () => {
      waiter.isGone = true;
      waiter.wake?.();
    });
    try {
      for (;;) {
        const leftMs = endMs - performance.now();
        if (!waiter.isGone && leftMs > 0 && !line.isTurnOf(waiter)) {
          const isWoken = await pause(waiter, line.isFirst(waiter) ? Math.min(leftMs, RETRY_MS) : leftMs);
          if (!isWoken && line.isFirst(waiter)) line.notify();
        }
        if (waiter.isGone || isGone(request, response)) return undefined;
        if (endMs - performance.now() <= 0) return await attempt();
        if (!line.isTurnOf(waiter)) continue;
        const { result, isFinal } = await line.tryOnce(attempt, deniedCostOf);
        if (isFinal) return result;
      }
    } finally {
      stopListening();
      line.remove(waiter);
      this.#size--;
      if (line.size === 0) this.#lines.delete(key);
    }
  }
}

/** Waits until woken, at most `ms`. Returns whether it was woken. */
async function pause(waiter: Waiter, ms: number): Promise<boolean> {
  const isWoken = await new Promise<boolean>((resolve) => {
    const timer = setTimeout(resolve, Math.ceil(ms), false);
    waiter.wake = () => {
      clearTimeout(timer);
      resolve(true);
    };
  });
  waiter.wake = undefined;
  return isWoken;
}
