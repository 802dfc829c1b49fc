import { hasLeft, onDeparture } from './departure.ts';
import type { RawRequest, RawResponse } from './framework.ts';

/** How often the first in a queue asks again unbidden: what other processes give back is told to nobody here. */
const ASK_AGAIN_MS = 100;
/** Requests that wait at most, in all and for one key; more are not made to wait. One client fills no more than its own. */
const MOST_WAITING = 1000;
const MOST_WAITING_FOR_ONE = 100;

interface Place {
  /** Whether there is reason to ask that has not been acted on. */
  called: boolean;
  hasLeft: boolean;
  wake: (() => void) | undefined;
}

/** Requests that wait, first come first served, for units of a key that others may give back. */
export class TurnQueue {
  readonly #waiting = new Map<string, Place[]>();
  #size = 0;

  /** Whether somebody waits for this key, so that whoever comes now has to queue. */
  isWaiting(key: string): boolean {
    return this.#waiting.has(key);
  }

  /** Whether another request may be made to wait for this key. */
  hasRoomFor(key: string): boolean {
    return this.#size < MOST_WAITING && (this.#waiting.get(key)?.length ?? 0) < MOST_WAITING_FOR_ONE;
  }

  /** Says that units of a key were given back: the first in its queue asks. */
  call(key: string): void {
    const first = this.#waiting.get(key)?.[0];
    if (first === undefined) return;
    first.called = true;
    first.wake?.();
  }

  /**
   * Waits for this one's turn and tries, until `attempt` answers something that `isFinal`, or `endMs` has come (by
   * `performance.now()`), when it is tried once more. Undefined when the client has left: then nothing was tried in its
   * name since.
   */
  async wait<T>(
    key: string,
    endMs: number,
    request: RawRequest,
    response: RawResponse,
    attempt: () => Promise<T>,
    isFinal: (result: T) => boolean,
  ): Promise<T | undefined> {
    // Called from the start: units may have been given back since it was refused, before it stood here to be called.
    const place: Place = { called: true, hasLeft: hasLeft(request, response), wake: undefined };
    const queue = this.#waiting.get(key) ?? [];
    this.#waiting.set(key, queue);
    queue.push(place);
    this.#size++;
    const stopListening = onDeparture(request, response, () => {
      place.hasLeft = true;
      place.wake?.();
    });
    try {
      for (;;) {
        const leftMs = endMs - performance.now();
        if (!place.hasLeft && leftMs > 0 && !(place.called && queue[0] === place)) {
          await pause(place, queue[0] === place ? Math.min(leftMs, ASK_AGAIN_MS) : leftMs);
        }
        if (place.hasLeft || hasLeft(request, response)) return undefined;
        const isOver = endMs - performance.now() <= 0;
        if (queue[0] !== place && !isOver) continue; // woken too early
        place.called = false;
        const result = await attempt();
        if (isOver || isFinal(result)) return result;
      }
    } finally {
      stopListening();
      queue.splice(queue.indexOf(place), 1);
      this.#size--;
      if (queue.length === 0) this.#waiting.delete(key);
      else this.call(key); // there may be room for the next one as well
    }
  }
}

/** Until woken, or so long. */
async function pause(place: Place, ms: number): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, Math.ceil(ms));
    place.wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
  place.wake = undefined;
}
