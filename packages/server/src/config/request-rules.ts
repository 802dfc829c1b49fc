import type { MakeLimit } from '../limits.ts';
import type { Rule, Unit } from './configuration.ts';
import { UNITS } from './configuration.ts';
import { policyOfRate } from './rate-limit.ts';

/** At most twice as many rules are kept. */
const KEPT = 1_000;

/**
 * The rules of limits that requests bring themselves: `limit` of a descriptor. Requests may bring any number of
 * different ones, so the last 1000 to 2000 are kept, and others are made again.
 */
export class RequestRules {
  readonly #makeLimit: MakeLimit;
  #recent = new Map<number, Rule>();
  #earlier: ReadonlyMap<number, Rule> = new Map();

  constructor(makeLimit: MakeLimit) {
    this.#makeLimit = makeLimit;
  }

  /**
   * The rule of a limit. Those of one unit, and `rate_limit` of that unit in the file, count one descriptor in the same
   * state, so that no client gets more by bringing another number.
   *
   * @param requestsPerUnit - A whole number below 2^32.
   */
  of(requestsPerUnit: number, unit: Unit): Rule {
    const key = requestsPerUnit * UNITS.length + UNITS.indexOf(unit);
    const known = this.#recent.get(key);
    if (known !== undefined) return known;
    const rule = this.#earlier.get(key) ?? this.#made(requestsPerUnit, unit);
    if (this.#recent.size === KEPT) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(key, rule);
    return rule;
  }

  #made(requestsPerUnit: number, unit: Unit): Rule {
    const rate = { requestsPerUnit, unit };
    const limit = this.#makeLimit(policyOfRate(rate));
    return { name: undefined, limit, rateLimit: rate, replaces: [], shadowMode: false, quotaMode: false };
  }
}
