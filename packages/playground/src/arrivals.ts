import { denialFor } from '@sluice/core/http';
import type { Decision } from '@sluice/core';
import { COLUMNS, type Offered, type Retries } from './traffic.ts';

/** A request that comes, for the first time (0) or again. */
export interface Coming extends Offered {
  readonly retry: number;
}

/** How often a denied request comes back. */
const MOST: Readonly<Record<Retries, number>> = { after: 10, backoff: 4 };
/** All that come back, so that a page stays fast whatever is drawn. */
const MOST_IN_ALL = 5_000;

/** The requests that are offered, and those that come back when they are denied: always the next one in time. */
export class Arrivals {
  readonly #offered: readonly Offered[];
  readonly #retries: Retries | undefined;
  readonly #spanMs: number;
  #next = 0;
  /** Those that come back, in the order of time. */
  readonly #again: Coming[] = [];
  #made = 0;

  /**
   * @param offered - In the order of time.
   * @param spanMs - What would come back later is not made.
   */
  constructor(offered: readonly Offered[], retries: Retries | undefined, spanMs: number) {
    this.#offered = offered;
    this.#retries = retries;
    this.#spanMs = spanMs;
  }

  next(): Coming | undefined {
    const offered = this.#offered[this.#next];
    const again = this.#again[0];
    if (again !== undefined && again.atMs <= (offered?.atMs ?? Infinity)) return this.#again.shift();
    this.#next++;
    return offered && { ...offered, retry: 0 };
  }

  denied(request: Coming, decision: Decision): void {
    if (this.#retries === undefined || request.retry >= MOST[this.#retries] || this.#made >= MOST_IN_ALL) return;
    const waitMs = this.#retries === 'after' ? toldMs(decision) : this.#backoffMs(request.retry);
    const atMs = request.atMs + (waitMs ?? Infinity);
    if (atMs >= this.#spanMs) return;
    this.#made++;
    const before = this.#again.findLastIndex((other) => other.atMs <= atMs);
    this.#again.splice(before + 1, 0, { ...request, atMs, retry: request.retry + 1 });
  }

  #backoffMs(retry: number): number {
    return Math.max(Math.floor((this.#spanMs / COLUMNS) * 2 ** (retry + 1)), 1);
  }
}

/** The value of `Retry-After`; undefined where the response has none. */
function toldMs(decision: Decision): number | undefined {
  const field = denialFor(decision).fields.find(({ name }) => name === 'Retry-After');
  return field && Number(field.value) * 1_000;
}
