/**
 * Shares of a bounded resource. A client gets no more than what is left for all others: a single client half, n equal
 * clients 1/(n + 1) each, so that a few clients can never take everything.
 */
export class Shares {
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** How many units all clients have taken. */
  get all(): number {
    return this.#all;
  }

  constructor(max: number) {
    this.#max = max;
  }

  /** Takes units for a client. Returns false, and takes none, if the client would have more than is left. */
  take(client: string, units: number): boolean {
    const own = (this.#taken.get(client) ?? 0) + units;
    if (own > this.#max - this.#all - units) return false;
    this.#taken.set(client, own);
    this.#all += units;
    return true;
  }

  /** Gives back what was taken. */
  give(client: string, units: number): void {
    const own = (this.#taken.get(client) ?? 0) - units;
    if (own > 0) this.#taken.set(client, own);
    else this.#taken.delete(client);
    this.#all -= units;
  }
}
