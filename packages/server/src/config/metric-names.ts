const MOST_NAMES = 1_000;
const LONGEST_NAME = 256;

/** Names in metrics that hold values of requests: the first 1000 different ones of up to 256 characters. */
export class MetricNames {
  readonly #names = new Map<string, string>();

  /** The name, or `other` where there is no place for one more. */
  bounded(name: string, other: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (name.length > LONGEST_NAME || this.#names.size >= MOST_NAMES) return other;
    this.#names.set(name, name);
    return name;
  }
}
