import type { Decision, PolicyDecision } from '../decision.ts';
import type { Op } from '../stores/store.ts';
import type { PolicyAsk } from './limits.ts';

export type { Decision, DecisionSource, Outcome, PolicyDecision } from '../decision.ts';

/** What a decision took, and where: all that a refund needs. It lives as long as the decision. */
export interface Receipt {
  /** The limiter that made the decision. */
  readonly issuer: object;
  readonly op: Op;
  /** The highest cost of its asks. */
  readonly cost: number;
  /** One per policy of the decision. */
  asks: readonly PolicyAsk[];
  /** Whether the fallback memory of this process counted it, because the store was unavailable. */
  isLocal: boolean;
  /** Whether there is nothing (left) to settle. */
  isSpent: boolean;
  /** Why the store did not decide. */
  error: Error | undefined;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A decision that carries its receipt in a private field, which copies do not have. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the constructor sets all
export interface LimiterDecision extends Writable<Decision> {}
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export class LimiterDecision {
  readonly #receipt: Receipt;

  /**
   * A decision of several policies, all of which must allow.
   *
   * @param policies - At least one: one for each ask of the receipt.
   */
  constructor(
    receipt: Receipt,
    policies: readonly PolicyDecision[],
    source: Decision['source'],
    atMs: number,
    isBlocked: boolean,
  ) {
    const all = policies.length === 1 ? (policies[0] as PolicyDecision) : combine(policies, receipt);
    const { allowed } = all;
    // Assigned to `this`, so that V8 allocates all of them at once.
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

  /** The receipt of a decision; undefined for a copy or anything else. */
  static readReceipt(decision: unknown): Receipt | undefined {
    return typeof decision === 'object' && decision !== null && #receipt in decision ? decision.#receipt : undefined;
  }
}

/** Combines several policies, with the name and the limit of the one that decides. */
function combine(policies: readonly PolicyDecision[], { op, asks }: Receipt): PolicyDecision {
  // A peek names the same policy as a consume, judged by what a consume would leave.
  const left = policies.map(({ limit, remaining }, i) => {
    const taken = op === 'peek' ? (asks[i]?.cost ?? 0) : 0;
    return limit === 0 ? 0 : Math.max(remaining - taken, 0) / limit;
  });
  const waits = policies.map(({ retryAfterMs }) => retryAfterMs ?? Infinity);
  const allowed = policies.every((policy) => policy.allowed);
  const decides = allowed ? left.indexOf(Math.min(...left)) : waits.indexOf(Math.max(...waits));
  return {
    ...(policies[decides] as PolicyDecision),
    allowed,
    remaining: Math.min(...policies.map(({ remaining }) => remaining)),
    resetAfterMs: Math.max(...policies.map(({ resetAfterMs }) => resetAfterMs)),
    delayMs: Math.max(...policies.map(({ delayMs }) => delayMs)),
  };
}

/** A decision made without a store or without a policy: it has no numbers. */
export function makeUndecided(
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

/** Turns a decision that allows with a delay into a denial until the delay has passed. Refunds nothing itself. */
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
