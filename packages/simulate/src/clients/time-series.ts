/** Spans at most: when a log is longer, two become one. */
export const MOST_SPANS = 240;

/** Equal spans of time that cover a log of unknown length: their width doubles when there are too many. */
export class TimeSpans {
  startMs = 0;
  widthMs = 1000;
  count = 0;
  readonly #series: number[][] = [];
  /** Rows of numbers by span, such as a histogram of each. */
  readonly #rows: number[][][] = [];

  /** Numbers by span, which are added up where spans become one. */
  series(): number[] {
    const series: number[] = [];
    this.#series.push(series);
    return series;
  }

  rows(): number[][] {
    const rows: number[][] = [];
    this.#rows.push(rows);
    return rows;
  }

  /** The span of an instant. Instants before the first belong to the first. */
  of(atMs: number): number {
    if (this.count === 0) {
      this.startMs = Math.floor(atMs / this.widthMs) * this.widthMs;
      this.count = 1;
    }
    let span = Math.max(Math.floor((atMs - this.startMs) / this.widthMs), 0);
    while (span >= MOST_SPANS) {
      this.#double();
      span = Math.floor((atMs - this.startMs) / this.widthMs);
    }
    if (span >= this.count) this.count = span + 1;
    return span;
  }

  #double(): void {
    this.widthMs *= 2;
    this.count = Math.ceil(this.count / 2);
    for (const series of this.#series) {
      for (let i = 0; 2 * i < series.length; i++) series[i] = (series[2 * i] ?? 0) + (series[2 * i + 1] ?? 0);
      series.length = Math.ceil(series.length / 2);
    }
    for (const rows of this.#rows) {
      for (let i = 0; 2 * i < rows.length; i++) rows[i] = added(rows[2 * i], rows[2 * i + 1]);
      rows.length = Math.ceil(rows.length / 2);
    }
  }
}

function added(one: readonly number[] = [], other: readonly number[] = []): number[] {
  const longer = one.length >= other.length ? one : other;
  return Array.from(longer, (_, i) => (one[i] ?? 0) + (other[i] ?? 0));
}
