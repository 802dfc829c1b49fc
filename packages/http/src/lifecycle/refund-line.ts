/** A request that waits in a line. */
export interface Waiter {
  readonly cost: number;
  isGone: boolean;
  /** Set while it pauses. */
  wake: (() => void) | undefined;
}

/**
 * The requests that wait for units of one key, in order of arrival. They try one at a time: first the first one and,
 * after a denial, the next one that costs less than what was denied. So a request that the limit allows now does not
 * wait behind a costlier one, and of requests with equal costs only the first one calls the store.
 */
export class RefundLine {
  readonly #waiters: Waiter[] = [];
  /** This cost, and so any higher one, was denied since units were last given back. */
  #deniedCost = Infinity;
  #isTrying = false;
  #notifications = 0;

  get size(): number {
    return this.#waiters.length;
  }

  add(waiter: Waiter): void {
    this.#waiters.push(waiter);
  }

  remove(waiter: Waiter): void {
    const index = this.#waiters.indexOf(waiter);
    this.#waiters.splice(index, 1);
    if (index === 0) this.#waiters[0]?.wake?.(); // the first one tries again from time to time
    this.#wakeNext();
  }

  isFirst(waiter: Waiter): boolean {
    return this.#waiters[0] === waiter;
  }

  isTurnOf(waiter: Waiter): boolean {
    return !this.#isTrying && this.#next() === waiter;
  }

  /** Lets all requests try again, the first one first: units may be free. */
  notify(): void {
    this.#notifications++;
    this.#deniedCost = Infinity;
    this.#wakeNext();
  }

  /** Lets the request whose turn it is try, and passes the turn on. */
  async tryOnce<T>(
    attempt: () => Promise<T>,
    deniedCostOf: (result: T) => number | undefined,
  ): Promise<{ readonly result: T; readonly isFinal: boolean }> {
    const notifications = this.#notifications;
    this.#isTrying = true;
    try {
      const result = await attempt();
      const deniedCost = deniedCostOf(result);
      // After a notification during the attempt, units may be free that the attempt did not find.
      if (deniedCost !== undefined && notifications === this.#notifications) this.#deniedCost = deniedCost;
      return { result, isFinal: deniedCost === undefined };
    } finally {
      this.#isTrying = false;
      this.#wakeNext();
    }
  }

  #next(): Waiter | undefined {
    return this.#waiters.find(({ cost }) => cost < this.#deniedCost);
  }

  #wakeNext(): void {
    if (!this.#isTrying) this.#next()?.wake?.();
  }
}
