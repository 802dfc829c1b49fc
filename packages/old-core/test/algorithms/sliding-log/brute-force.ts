/**
 * Every unit that was taken, by its instant: slow, and obviously right. What has expired is forgotten when something is
 * written.
 */
export class BruteForce {
  readonly #limit: number;
  readonly #windowMs: number;
  #units: number[] = [];

  constructor(limit: number, windowMs: number) {
    this.#limit = limit;
    this.#windowMs = windowMs;
  }

  /** What a decision says of so many units. Takes them if they fit. */
  consume(cost: number, atMs: number): { allowed: boolean; remaining: number; retryAfterMs: number | null } {
    const live = this.#live(atMs);
    const used = live.length;
    const allowed = used + cost <= this.#limit;
    if (allowed) {
      const takenMs = Math.max(atMs, live.at(-1) ?? 0);
      for (let i = 0; i < cost; i++) live.push(takenMs);
      this.#units = live;
    }
    const remaining = Math.max(this.#limit - live.length, 0);
    if (allowed) return { allowed, remaining, retryAfterMs: 0 };
    if (cost > this.#limit) return { allowed, remaining, retryAfterMs: null };
    const missing = used + cost - this.#limit;
    return { allowed, remaining, retryAfterMs: (live[missing - 1] as number) + this.#windowMs - atMs };
  }

  /** The oldest are given back. */
  refund(cost: number, chargedUntilMs: number, atMs: number): void {
    const live = this.#live(atMs);
    if (atMs < chargedUntilMs && live.length > 0) this.#units = live.slice(cost);
  }

  /** The instants that are remembered, oldest first, and how many units were taken at each. */
  entries(): (readonly [atMs: number, units: number])[] {
    const counts = new Map<number, number>();
    for (const atMs of this.#units) counts.set(atMs, (counts.get(atMs) ?? 0) + 1);
    return [...counts];
  }

  #live(atMs: number): number[] {
    const first = this.#units.findIndex((takenMs) => takenMs > atMs - this.#windowMs);
    return first === -1 ? [] : this.#units.slice(first);
  }
}
