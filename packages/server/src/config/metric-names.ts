/** Names of one rule that hold values of requests. */
const MOST_NAMES = 1_000;
const LONGEST_NAME = 256;

/**
 * The names of a rule in metrics, where they hold values of requests: the first 1000 different ones of up to 256 characters.
 * All others are one name, which ends in `other`.
 */
export class MetricNames {
  readonly #other: string;
  readonly #names = new Map<string, string>();

  constructor(name: string) {
    this.#other = `${name}_other`;
  }

  bounded(name: string): string {
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    if (name.length > LONGEST_NAME || this.#names.size >= MOST_NAMES) return this.#other;
    this.#names.set(name, name);
    return name;
  }
}
