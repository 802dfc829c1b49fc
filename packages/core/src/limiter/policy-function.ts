import { PolicyError, shown } from '../errors.ts';
import type { Policy } from '../policies/index.ts';
import type { Store } from '../stores/store.ts';

/** What a limiter passes to its policy function: the same object in each call. */
export interface PolicyContext {
  /** The name of this application: the option `app` of the limiter. */
  readonly app: string | undefined;
  /** The source of managed policies: the option `policies` of the limiter. */
  readonly policies: object | undefined;
  readonly store: Store;
}

/** What a policy function may return. Undefined: no policy is configured, and `onUnconfigured` decides. */
export type ReturnedPolicy = Policy | readonly Policy[] | undefined;

/**
 * Returns the policy of a key, which may change while the process runs. It is called for each decision, so it should
 * only look up policies, and return the same object as long as the numbers do not change. Until it has loaded, it may
 * return a promise, which counts towards `timeoutMs`; if that is late or rejects, the outcome is `unavailable`. Any
 * other error is a bug: the decision rejects with it.
 *
 * @param key - The key as the application limits it.
 */
export type PolicyFunction = (key: string, context: PolicyContext) => ReturnedPolicy | Promise<ReturnedPolicy>;

/** How a limiter uses a {@link PolicyFunction}. */
export interface PolicyMark {
  /** The name of its policy in decisions and in keys: all limiters with functions of this name count together. */
  readonly name?: string;
  /** What keys contain now instead of the name. If it changes, every key starts afresh. */
  readonly keyName?: (context: PolicyContext) => string;
  /** Its current policy for any key, as far as it is known: for metrics. */
  readonly current?: (context: PolicyContext) => ReturnedPolicy;
  /** Whether its source has lost it: this process still has it, but a process that starts now does not. */
  readonly isLost?: (context: PolicyContext) => boolean;
  /**
   * Called once for each limiter that uses it, however many functions, when the limiter is created. Throws if an option
   * of the limiter is missing. The returned function is called when the limiter closes.
   */
  readonly open?: (context: PolicyContext) => (() => void | Promise<void>) | undefined;
}

declare const MARKED: unique symbol;

/** The type of what {@link policyOf} returns, which a function of the request does not have. */
export interface MarkedPolicy {
  readonly [MARKED]: true;
}

const marks = new WeakMap<PolicyFunction, PolicyMark>();

/**
 * Marks a function as one for a limiter: adapters call an unmarked function with the request instead.
 *
 * @example
 * ```ts
 * const byPlan = policyOf((key) => plans.get(key)?.policy);
 * app.use(rateLimit({ policy: byPlan }));
 * ```
 */
export function policyOf(read: PolicyFunction, mark: PolicyMark = {}): PolicyFunction & MarkedPolicy {
  if (typeof read !== 'function') {
    throw new PolicyError('policy', `policyOf takes a function that returns a policy for a key, got ${shown(read)}`);
  }
  marks.set(read, mark);
  return read as PolicyFunction & MarkedPolicy;
}

/** The mark of a function; undefined if it has none. */
export function readMark(read: unknown): PolicyMark | undefined {
  return typeof read === 'function' ? marks.get(read as PolicyFunction) : undefined;
}
