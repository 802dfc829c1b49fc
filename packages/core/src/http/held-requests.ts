import { PolicyError, shown } from '../errors.ts';

/** A request holds its socket and what its framework keeps for it: some 20 to 50 KB. */
const MOST_HELD = 1000;

/** How many requests one place of an application holds until they may start, and the bound of that. */
export class HeldRequests {
  readonly #most: number;
  #count = 0;

  /**
   * @param most - The option `maxHeld`.
   * @throws PolicyError when it is no whole number from 0 on.
   */
  constructor(most: number = MOST_HELD) {
    if (!Number.isSafeInteger(most) || most < 0) {
      throw new PolicyError(
        'maxHeld',
        `maxHeld must be a whole number of requests, at least 0, got ${shown(most)}`,
        'SLUICE_OPTION_INVALID',
      );
    }
    this.#most = most;
  }

  /** Takes a place in each, or in none. Undefined when one of them is full; what gives them up, otherwise. */
  static enter(all: Iterable<HeldRequests>): (() => void) | undefined {
    const entered = new Set(all);
    for (const held of entered) if (held.#count >= held.#most) return undefined;
    for (const held of entered) held.#count++;
    return () => {
      for (const held of entered) held.#count--;
      entered.clear();
    };
  }
}
