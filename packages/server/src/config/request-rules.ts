import type { MakeLimit } from '../limits.ts';
import { makeRatePolicy } from './configuration.ts';
import type { Rule } from './rule-node.ts';
import type { Unit } from './units.ts';

/** Requests may bring any number of different limits: this many are kept, and others are created again. */
const MAX_KEPT = 1_000;

/** The rules of limits that requests bring themselves: `limit` of a descriptor. */
export class RequestRules {
  readonly #makeLimit: MakeLimit;
  readonly #rules = new Map<string, Rule>();

  constructor(makeLimit: MakeLimit) {
    this.#makeLimit = makeLimit;
  }

  /**
   * The rule of a limit. Limits with one unit, and the file's `rate_limit` with that unit, share the state of a
   * descriptor, so that no client gets more by sending another number.
   *
   * @param requestsPerUnit - A whole number below 2^32.
   */
  of(requestsPerUnit: number, unit: Unit): Rule {
    const key = `${String(requestsPerUnit)} ${unit}`;
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const rateLimit = { requestsPerUnit, unit };
    const limit = this.#makeLimit(makeRatePolicy(rateLimit));
    const rule = { name: undefined, limit, rateLimit, replaces: [], shadowMode: false, quotaMode: false };
    if (this.#rules.size >= MAX_KEPT) this.#rules.clear();
    this.#rules.set(key, rule);
    return rule;
  }
}
