/** Decisions of one limiter by one policy, by minute, for the last hour. */
export class MinuteCounts {
  readonly allowed: Uint32Array = new Uint32Array(MINUTES);
  readonly denied: Uint32Array = new Uint32Array(MINUTES);
  /** Those of `allowed` that left at most a fifth of the limit. */
  readonly near: Uint32Array = new Uint32Array(MINUTES);

  /** Forgets what is an hour old, at the place of the minute that begins. */
  clear(minute: number): void {
    this.allowed[minute] = this.denied[minute] = this.near[minute] = 0;
  }
}

/** How many minutes are kept. */
export const MINUTES = 60;

/** The upper bounds of decision times, in milliseconds. */
export const BOUNDS_MS: readonly number[] = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 10_000];

/** How long decisions took, and where they came from. */
export class Timings {
  readonly #buckets = new Float64Array(BOUNDS_MS.length + 1);
  readonly #sources = new Map<string, { count: number }>();
  /** The source of the last decision: usually the next one's too. */
  #last = '';
  #ofLast = { count: 0 };

  add(durationMs: number, source: string): void {
    let i = 0;
    while (i < BOUNDS_MS.length && durationMs > (BOUNDS_MS[i] as number)) i++;
    this.#buckets[i] = (this.#buckets[i] as number) + 1;
    if (source !== this.#last) {
      this.#last = source;
      this.#ofLast = this.#sources.get(source) ?? { count: 0 };
      this.#sources.set(source, this.#ofLast);
    }
    this.#ofLast.count++;
  }

  /** How many decisions each source has made. */
  get sources(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#sources].map(([source, { count }]) => [source, count]));
  }

  /** The bound below which this share of decisions took; null where none was made, or they took longer than all bounds. */
  quantile(share: number): number | null {
    const total = this.#buckets.reduce((sum, count) => sum + count, 0);
    let left = total * share;
    if (total === 0) return null;
    for (const [i, bound] of BOUNDS_MS.entries()) if ((left -= this.#buckets[i] as number) <= 0) return bound;
    return null;
  }

  clear(): void {
    this.#buckets.fill(0);
    this.#sources.clear();
    this.#last = '';
  }
}

export function sumOf(counts: Uint32Array): number {
  return counts.reduce((sum, count) => sum + count, 0);
}
