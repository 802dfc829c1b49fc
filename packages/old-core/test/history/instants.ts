import type { Decided } from './explain.ts';
import type { Call } from './history.ts';

/** The instants at which the server can have run a call, by the decisions that ended before it and began after it. */
export class Instants {
  /** Latest instants of all decisions that had ended by then. */
  readonly #ended: Steps;
  /** Earliest instants of all decisions that were invoked from then on; of all processes, and by process. */
  readonly #invoked: Steps;
  readonly #invokedBy = new Map<number, Steps>();

  constructor(decided: readonly Decided[]) {
    this.#ended = new Steps(decided.map(({ endedMs, reply }) => [endedMs, reply.atMs]));
    this.#invoked = new Steps(decided.map(({ invokedMs, reply }) => [-invokedMs, -reply.atMs]));
    for (const number of new Set(decided.map((call) => call.process))) {
      const own = decided.filter((call) => call.process === number);
      this.#invokedBy.set(number, new Steps(own.map(({ invokedMs, reply }) => [-invokedMs, -reply.atMs])));
    }
  }

  /** Not before: a decision that had ended when it was invoked. */
  notBeforeMs({ invokedMs }: Call): number {
    return this.#ended.largestBelow(invokedMs);
  }

  /** Not after: a decision that was invoked when this had ended. */
  notAfterMs({ endedMs }: Call): number {
    return -this.#invoked.largestBelow(-endedMs);
  }

  /** Not after, for a call that failed: a decision of the same process that was sent behind it. */
  notAfterMsInProcess({ endedMs, process }: Call): number {
    return -(this.#invokedBy.get(process)?.largestBelow(-endedMs) ?? -Infinity);
  }
}

/** The largest value of all whose place is smaller. */
class Steps {
  readonly #places: readonly number[];
  readonly #largest: readonly number[];

  constructor(pairs: readonly (readonly [place: number, value: number])[]) {
    const sorted = [...pairs].sort(([a], [b]) => a - b);
    let largest = -Infinity;
    this.#places = sorted.map(([place]) => place);
    this.#largest = sorted.map(([, value]) => (largest = Math.max(largest, value)));
  }

  largestBelow(place: number): number {
    let [low, high] = [0, this.#places.length];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      if ((this.#places[middle] as number) < place) low = middle + 1;
      else high = middle;
    }
    return this.#largest[low - 1] ?? -Infinity;
  }
}
