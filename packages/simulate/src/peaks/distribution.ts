/** How often each whole number occurred. Exact: a log has few different peaks. */
export class Distribution {
  readonly #counts = new Map<number, number>();
  total = 0;

  add(value: number): void {
    this.#counts.set(value, (this.#counts.get(value) ?? 0) + 1);
    this.total++;
  }

  /** The values with their counts, the smallest first. */
  sorted(): readonly (readonly [value: number, count: number])[] {
    return [...this.#counts].sort(([one], [other]) => one - other);
  }

  /** The smallest value that at most this share exceeds: one that occurred, or 0. */
  exceededByAtMost(share: number): number {
    const most = Math.floor(this.total * share + 1e-9);
    let above = 0;
    for (const [value, count] of this.sorted().toReversed()) {
      above += count;
      if (above > most) return value;
    }
    return 0;
  }

  above(value: number): number {
    let above = 0;
    for (const [one, count] of this.#counts) if (one > value) above += count;
    return above;
  }
}
