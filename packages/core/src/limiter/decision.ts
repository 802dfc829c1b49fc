import type { Decision, PolicyDecision } from '../decision.ts';
import type { Op } from '../stores/store.ts';
import type { PolicyAsk } from './limits.ts';

export type { Decision, DecisionSource, Outcome, PolicyDecision } from '../decision.ts';

/** What a decision took, and where: what is needed to give it back. It lives as long as the decision. */
export interface Receipt {
  /** The limiter that made the decision. */
  readonly issuer: object;
  readonly op: Op;
  /** The highest cost of its asks. */
  readonly cost: number;
  /** One per policy of the decision. */
  asks: readonly PolicyAsk[];
  /** Whether the memory of this process counted it, because the store was not available. */
  isLocal: boolean;
  /** Whether there is nothing to settle, or not any more. */
  isSpent: boolean;
  /** Why the store did not decide. */
  error: Error | undefined;
}

type Writable<T> = { -readonly [Name in keyof T]: T[Name] };

/** A decision that carries its receipt: no property, no symbol, and nothing of it in a copy. */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- the constructor sets all
export interface LimiterDecision extends Writable<Decision> {}
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging
export class LimiterDecision {
  readonly #receipt: Receipt;

  /**
   * The decision of policies, of which all must allow.
   *
   * @param policies - At least one; of each ask of the receipt.
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
    // Written to `this`, so that V8 makes room for all of them.
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
  // A peek names the same policy as a consume: by what that would leave.
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

/** A decision without a store, or without a policy: it states no numbers. */
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
