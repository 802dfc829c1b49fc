const FIRST_MS = 0.01;
/** Each class of durations ends a quarter above the previous one; the last one at 13 s. */
const STEP = Math.log(1.25);
const CLASSES = 64;

/** How long something takes, accurate to a quarter. */
export class Durations {
  readonly #counts = new Uint32Array(CLASSES);

  add(ms: number): void {
    const at = Math.min(CLASSES - 1, Math.max(0, Math.ceil(Math.log(ms / FIRST_MS) / STEP)));
    this.#counts[at] = (this.#counts[at] as number) + 1;
  }

  /** Halves all counts, so that old durations count less and less. */
  fade(): void {
    for (let i = 0; i < CLASSES; i++) this.#counts[i] = Math.floor((this.#counts[i] as number) / 2);
  }

  /** The milliseconds within which this part of all durations lies. Null if there are none. */
  quantile(part: number): number | null {
    let left = part * this.#counts.reduce((sum, count) => sum + count, 0);
    if (left === 0) return null;
    const at = this.#counts.findIndex((count) => (left -= count) <= 0);
    return FIRST_MS * Math.exp(at * STEP);
  }
}
