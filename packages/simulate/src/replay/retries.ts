import type { HeldPart, Lane } from './lane.ts';

/** A denied request that comes back. */
interface Retry {
  readonly atMs: number;
  readonly firstAtMs: number;
  readonly tries: number;
  readonly parts: readonly HeldPart[];
}

/** How often a request comes back before it gives up. */
export const MOST_TRIES = 10;
const SECOND_MS = 1000;

/** The later results of denied requests whose clients come back after Retry-After. */
export interface RetryOutcome {
  readonly deniedAtFirst: number;
  /** Allowed when they came back. */
  readonly recovered: number;
  /** Denied ten times more, or never allowed whatever the wait. */
  readonly givenUp: number;
  /** Those that would come back after the end of the log. */
  readonly waiting: number;
  /** Requests beside those of the log. */
  readonly retries: number;
  readonly meanWaitMs: number;
  readonly longestWaitMs: number;
  /** Requests that would have come back, and had no room, or whose key was forgotten. */
  readonly dropped: number;
}

/** Plays the clients of one candidate that come back after Retry-After, on states of their own. */
export class Retries {
  readonly #lane: Lane;
  readonly #most: number;
  /** A heap by instant. */
  readonly #heap: Retry[] = [];
  readonly #outcome = {
    deniedAtFirst: 0,
    recovered: 0,
    givenUp: 0,
    retries: 0,
    waitMs: 0,
    longestWaitMs: 0,
    dropped: 0,
  };

  /** @param most - Requests that wait at once. */
  constructor(lane: Lane, most: number) {
    this.#lane = lane;
    this.#most = most;
  }

  /** A request was denied at an instant, by the lane of this. */
  denied(parts: readonly HeldPart[], atMs: number): void {
    this.#outcome.deniedAtFirst++;
    this.#later({ atMs, firstAtMs: atMs, tries: 0, parts });
  }

  /** Decides what comes back until an instant, before the requests of the log at that instant. */
  until(nowMs: number): void {
    for (let first = this.#heap[0]; first !== undefined && first.atMs <= nowMs; first = this.#heap[0]) {
      this.#pop();
      if (first.parts.some(({ holder }) => holder.isDropped)) {
        this.#outcome.dropped++;
        continue;
      }
      this.#outcome.retries++;
      if (this.#lane.decideAgain(first.parts, first.atMs)) {
        const waitMs = first.atMs - first.firstAtMs;
        this.#outcome.recovered++;
        this.#outcome.waitMs += waitMs;
        this.#outcome.longestWaitMs = Math.max(this.#outcome.longestWaitMs, waitMs);
      } else this.#later(first);
    }
  }

  outcome(): RetryOutcome {
    const { waitMs, recovered, ...counts } = this.#outcome;
    return {
      ...counts,
      recovered,
      waiting: this.#heap.length,
      meanWaitMs: recovered === 0 ? 0 : Math.round(waitMs / recovered),
    };
  }

  #later(retry: Retry): void {
    const { retryAfterMs } = this.#lane;
    if (retryAfterMs === null || retry.tries === MOST_TRIES) this.#outcome.givenUp++;
    else if (this.#heap.length >= this.#most) this.#outcome.dropped++;
    // Whole seconds, rounded up, as the header field says.
    else
      this.#push({
        ...retry,
        tries: retry.tries + 1,
        atMs: retry.atMs + Math.max(Math.ceil(retryAfterMs / SECOND_MS), 1) * SECOND_MS,
      });
  }

  #push(retry: Retry): void {
    const heap = this.#heap;
    let at = heap.push(retry) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if ((heap[parent] as Retry).atMs <= retry.atMs) break;
      heap[at] = heap[parent] as Retry;
      at = parent;
    }
    heap[at] = retry;
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && (heap[child + 1] as Retry).atMs < (heap[child] as Retry).atMs) child++;
      if ((heap[child] as Retry).atMs >= last.atMs) break;
      heap[at] = heap[child] as Retry;
      at = child;
    }
    heap[at] = last;
  }
}
