/** Counts the unfinished work of a limiter, so that `close` can wait for it. */
export class InFlight {
  #count = 0;
  #idle: (() => void) | undefined;

  begin(): void {
    this.#count++;
  }

  end(): void {
    this.#count--;
    if (this.#count === 0) this.#idle?.();
  }

  /** Counts a promise until it is settled. */
  track<T>(work: Promise<T>): Promise<T> {
    this.begin();
    const end = (): void => {
      this.end();
    };
    work.then(end, end);
    return work;
  }

  /** Undefined when idle; else resolves when the last work has finished. */
  idle(): Promise<void> | undefined {
    if (this.#count === 0) return undefined;
    return new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }
}
