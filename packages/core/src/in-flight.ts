/** Counts what a limiter has begun and not ended, so that it is closed when nothing is left. */
export class InFlight {
  #count = 0;
  #idle: (() => void) | undefined;

  entered(): void {
    this.#count++;
  }

  left(): void {
    this.#count--;
    if (this.#count === 0) this.#idle?.();
  }

  /** Counts some work until it is settled. */
  settle<T>(work: Promise<T>): Promise<T> {
    this.entered();
    const left = (): void => {
      this.left();
    };
    work.then(left, left);
    return work;
  }

  /** Undefined when nothing is in flight; else resolves when that is so. */
  idle(): Promise<void> | undefined {
    if (this.#count === 0) return undefined;
    return new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }
}
