import { isGone, onClose } from './disconnect.ts';
import type { RawRequest, RawResponse } from '../framework.ts';

/** How often the first in a queue tries again without a notice: refunds of other processes send none. */
const RETRY_MS = 100;
/**
 * Requests that may wait, in total and for one key; further ones do not wait. One client can fill only its own queue.
 */
const MAX_WAITING = 1000;
const MAX_WAITING_PER_KEY = 100;

interface Waiter {
  /** Whether units were given back since the last attempt. */
  isNotified: boolean;
  isGone: boolean;
  wake: (() => void) | undefined;
}

/** Requests that wait, first come first served, for units of a key that other requests may give back. */
export class RefundQueue {
  readonly #waiting = new Map<string, Waiter[]>();
  #size = 0;

  /** Whether any request waits for this key, so that a new one has to queue. */
  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Whether another request may wait for this key. */
  hasRoomFor(key: string): boolean {
    return this.#size < MAX_WAITING && (this.#waiting.get(key)?.length ?? 0) < MAX_WAITING_PER_KEY;
  }

  /** Wakes the first request in a key's queue: units were given back. */
  notifyFirst(key: string): void {
    const first = this.#waiting.get(key)?.[0];
    if (first === undefined) return;
    first.isNotified = true;
    first.wake?.();
  }

  /**
   * Waits until the request is first in its queue, and calls `attempt` until its result `isFinal`. At `endMs` (by
   * `performance.now()`) it makes a last attempt.
   *
   * @returns Undefined when the client left. No attempt was made after that.
   */
  async wait<T>(
    key: string,
    endMs: number,
    request: RawRequest,
    response: RawResponse,
    attempt: () => Promise<T>,
    isFinal: (result: T) => boolean,
  ): Promise<T | undefined> {
    // Notified from the start: units may have been given back between the denial and this line.
    const waiter: Waiter = { isNotified: true, isGone: isGone(request, response), wake: undefined };
    const queue = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, queue);
    queue.push(waiter);
    this.#size++;
    const stopListening = onClose(request, response, () => {
      waiter.isGone = true;
      waiter.wake?.();
    });
    try {
      for (;;) {
        const leftMs = endMs - performance.now();
        if (!waiter.isGone && leftMs > 0 && !(waiter.isNotified && queue[0] === waiter)) {
          await pause(waiter, queue[0] === waiter ? Math.min(leftMs, RETRY_MS) : leftMs);
        }
        if (waiter.isGone || isGone(request, response)) return undefined;
        const isLast = endMs - performance.now() <= 0;
        if (queue[0] !== waiter && !isLast) continue; // not first yet
        waiter.isNotified = false;
        const result = await attempt();
        if (isLast || isFinal(result)) return result;
      }
    } finally {
      stopListening();
      queue.splice(queue.indexOf(waiter), 1);
      this.#size--;
      if (queue.length === 0) this.#waiting.delete(key);
      else this.notifyFirst(key); // units may be left for the next one
    }
  }
}

/** Waits until woken, at most `ms`. */
async function pause(waiter: Waiter, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Math.ceil(ms));
    waiter.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  waiter.wake = undefined;
}
