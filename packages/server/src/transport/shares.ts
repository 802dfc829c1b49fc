/** What clients have of something that is bounded: each at most its share, and all together at most so much. */
export class Shares {
  readonly #maxOfClient: number;
  readonly #max: number;
  readonly #taken = new Map<string, number>();
  #all = 0;

  /** How many all clients have taken. */
  get all(): number {
    return this.#all;
  }

  constructor(maxOfClient: number, max: number) {
    this.#maxOfClient = maxOfClient;
    this.#max = max;
  }

  /** Takes units for a client. Returns false, and takes none, if that would be more than its share, or than there are. */
  take(client: string, units: number): boolean {
    const own = (this.#taken.get(client) ?? 0) + units;
    if (own > this.#maxOfClient || this.#all + units > this.#max) return false;
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
