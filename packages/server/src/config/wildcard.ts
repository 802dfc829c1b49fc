/** A configuration value with `*`, each of which matches any characters, or none. */
export class Wildcard {
  readonly pattern: string;
  readonly #first: string;
  readonly #middle: readonly string[];
  readonly #last: string;
  readonly #least: number;

  constructor(pattern: string) {
    const parts = pattern.split('*');
    this.pattern = pattern;
    this.#first = parts[0] ?? '';
    this.#middle = parts.slice(1, -1).filter((part) => part !== '');
    this.#last = parts.at(-1) ?? '';
    this.#least = pattern.length - (parts.length - 1);
  }

  /** Takes time proportional to the length of the value, times that of the pattern at worst. */
  matches(value: string): boolean {
    if (value.length < this.#least || !value.startsWith(this.#first) || !value.endsWith(this.#last)) return false;
    const end = value.length - this.#last.length;
    let from = this.#first.length;
    for (const part of this.#middle) {
      // The first place is the best: it leaves the most for the parts after it.
      const at = value.indexOf(part, from);
      if (at === -1 || at + part.length > end) return false;
      from = at + part.length;
    }
    return true;
  }
}
