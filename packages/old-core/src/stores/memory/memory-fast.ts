import type { Decision } from '../../engine/decision.ts';
import type { DecisionReceipts, Fast } from '../../engine/fast.ts';
import type { Limit } from '../../engine/store.ts';
import { consumeOne } from './consume-one.ts';
import type { Keys } from './keys.ts';

/** Decides over one key of one policy at once, with no object but the decision. */
export class MemoryFast implements Fast {
  readonly #keys: Keys;
  readonly #now: () => number;
  readonly #receipts: DecisionReceipts;

  constructor(keys: Keys, now: () => number, receipts: DecisionReceipts) {
    this.#keys = keys;
    this.#now = now;
    this.#receipts = receipts;
  }

  consume(limit: Limit, subject: string, cost: number): Decision | undefined {
    if (limit.policies.length !== 1) return undefined;
    let decision: Decision | undefined;
    try {
      const nowMs = Math.floor(this.#now());
      if (!Number.isSafeInteger(nowMs)) return undefined;
      decision = consumeOne(this.#keys, limit, subject, cost, nowMs);
    } catch {
      return undefined; // such as a clock that throws: `perform` meets the same error, and reports it
    }
    if (decision !== undefined) this.#receipts.writeLazily(decision, limit, subject);
    return decision;
  }
}
