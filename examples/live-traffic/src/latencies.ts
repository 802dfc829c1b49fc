const SMALLEST_MS = 0.01;
const GROWTH = 1.1;
const BUCKETS = 200;

/** Latencies in buckets that grow by a tenth, so that a run of days needs no more memory: quantiles are within 5 % from 0.01 ms to half an hour. */
export class Latencies {
  readonly #counts = new Float64Array(BUCKETS);
  #total = 0;

  add(ms: number): void {
    const bucket = Math.floor(Math.log(Math.max(ms, SMALLEST_MS) / SMALLEST_MS) / Math.log(GROWTH));
    const at = Math.min(bucket, BUCKETS - 1);
    this.#counts[at] = (this.#counts[at] ?? 0) + 1;
    this.#total++;
  }

  /** The middle of the bucket that holds the quantile, in milliseconds; undefined before the first latency. */
  quantile(share: number): number | undefined {
    if (this.#total === 0) return undefined;
    let left = Math.ceil(share * this.#total);
    const bucket = this.#counts.findIndex((count) => (left -= count) <= 0);
    return SMALLEST_MS * GROWTH ** (bucket + 0.5);
  }
}
