import type { Decision, DecisionSource, Outcome, PolicyDecision } from '../decision.ts';
import type { Ask, Op } from '../stores/store.ts';

export type { Decision, DecisionSource, Outcome, PolicyDecision } from '../decision.ts';

/** What a decision took, and where: what is needed to give it back. It lives as long as the decision. */
export interface Receipt {
  /** The limiter that made the decision. */
  readonly issuer: object;
  readonly op: Op;
  /** The highest cost of its asks. */
  readonly cost: number;
  /** One per policy of the decision. */
  asks: readonly Ask[];
  /** Whether the memory of this process counted it, because the store was not available. */
  isLocal: boolean;
  /** Whether there is nothing to settle, or not any more. */
  isSpent: boolean;
  /** Why the store did not decide. */
  error: Error | undefined;
}

/** A decision that carries its receipt: no property, no symbol, and nothing of it in a copy. */
export class LimiterDecision implements Decision {
  declare readonly allowed: boolean;
  declare readonly outcome: Outcome;
  declare readonly policy: string;
  declare readonly cost: number;
  declare readonly limit: number;
  declare readonly remaining: number;
  declare readonly used: number;
  declare readonly retryAfterMs: number | null;
  declare readonly resetAfterMs: number;
  declare readonly delayMs: number;
  declare readonly source: DecisionSource;
  declare readonly atMs: number;
  declare readonly error?: Error;
  declare readonly policies: readonly PolicyDecision[];
  readonly #receipt: Receipt;

  /**
   * The decision of policies, of which all must allow.
   *
   * @param policies - At least one; of each ask of the receipt.
   */
  constructor(
    receipt: Receipt,
    policies: readonly PolicyDecision[],
    source: DecisionSource,
    atMs: number,
    isBlocked: boolean,
  ) {
    const all = policies.length === 1 ? (policies[0] as PolicyDecision) : combine(policies, receipt);
    const { allowed } = all;
    this.allowed = allowed;
    this.outcome = isBlocked ? 'blocked' : allowed ? 'allowed' : 'denied';
    this.policy = all.name;
    this.cost = receipt.cost;
    this.limit = all.limit;
    this.remaining = all.remaining;
    this.used = all.used;
    this.retryAfterMs = all.retryAfterMs;
    this.resetAfterMs = all.resetAfterMs;
    this.delayMs = allowed ? all.delayMs : 0;
    this.source = source;
    this.atMs = atMs;
    if (receipt.error !== undefined) this.error = receipt.error;
    this.policies = policies;
    this.#receipt = receipt;
  }

  /** The receipt of a decision; undefined for a copy, and for anything else. */
  static readReceipt(decision: unknown): Receipt | undefined {
    return typeof decision === 'object' && decision !== null && #receipt in decision ? decision.#receipt : undefined;
  }
}

/** Several policies as one: under the name and with the limit of the one that decides. */
function combine(policies: readonly PolicyDecision[], { op, asks }: Receipt): PolicyDecision {
  let allowed = true;
  let remaining = Infinity;
  let resetAfterMs = 0;
  let delayMs = 0;
  let tightest = 0;
  let leastLeft = Infinity;
  let slowest = 0;
  let longestMs = -1;
  for (const [i, policy] of policies.entries()) {
    const waitMs = policy.retryAfterMs ?? Infinity;
    // A peek names the same policy as a consume: by what that would leave.
    const taken = op === 'peek' ? (asks[i]?.cost ?? 0) : 0;
    const left = policy.limit === 0 ? 0 : Math.max(policy.remaining - taken, 0) / policy.limit;
    if (left < leastLeft) [leastLeft, tightest] = [left, i];
    if (waitMs > longestMs) [longestMs, slowest] = [waitMs, i];
    allowed &&= policy.allowed;
    remaining = Math.min(remaining, policy.remaining);
    resetAfterMs = Math.max(resetAfterMs, policy.resetAfterMs);
    delayMs = Math.max(delayMs, policy.delayMs);
  }
  return { ...(policies[allowed ? tightest : slowest] as PolicyDecision), allowed, remaining, resetAfterMs, delayMs };
}

/** A decision without a store, or without a policy: it states no numbers. */
export function undecided(
  receipt: Receipt,
  outcome: 'unavailable' | 'unconfigured',
  allowed: boolean,
  name: string,
): Decision {
  const numbers = { limit: 0, remaining: 0, used: 0, resetAfterMs: 0, delayMs: 0, windowMs: 0, nextAfterMs: null };
  const policy = { name, allowed, retryAfterMs: allowed ? 0 : null, ...numbers };
  const decision = new LimiterDecision({ ...receipt, isSpent: true }, [policy], 'none', Date.now(), false);
  return Object.assign(decision, { outcome, policies: [] });
}

/**
 * Turns a decision that allows with a delay into a denial by the policies that delay, until their wait has passed. It
 * gives nothing back by itself.
 */
export function deniedForWaiting(decision: Decision): Decision {
  const receipt = LimiterDecision.readReceipt(decision) as Receipt;
  const policies = decision.policies.map((policy) => {
    const { delayMs } = policy;
    if (delayMs === 0) return policy;
    return { ...policy, allowed: false, remaining: 0, retryAfterMs: delayMs, nextAfterMs: delayMs, delayMs: 0 };
  });
  const { source, atMs } = decision;
  return new LimiterDecision({ ...receipt, isSpent: true }, policies, source, atMs, false);
}
