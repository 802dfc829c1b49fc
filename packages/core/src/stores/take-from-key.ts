import { combine, decisionOfOne, type Decision, type DecisionSource } from '../decision.ts';
import type { NamedPolicy } from '../policy.ts';
import { decisionOf, evaluate, type KeyState } from './evaluate.ts';
import type { Limit, PartAnswer } from './store.ts';

/**
 * Decides one request for a key of a plain limit, as {@link evaluate} does, and makes the key what it is afterwards.
 *
 * @param cost - At least 1.
 */
export function takeFromKey(
  limit: Limit,
  subject: string,
  key: KeyState,
  cost: number,
  nowMs: number,
  source: DecisionSource,
): Decision {
  const { policies } = limit;
  if (policies.length === 1 && key.blockedUntilMs <= nowMs) {
    const named = policies[0] as NamedPolicy;
    const { state, verdict } = named.algorithm.kernel(named.policy, key.states[0], cost, nowMs);
    if (verdict.allowed) {
      key.states = [state];
      key.blockedUntilMs = 0;
    }
    return decisionOfOne(decisionOf(named, verdict), cost, source, nowMs);
  }
  const { answer } = evaluate({ op: 'consume', parts: [{ limit, subject, cost }] }, [key], nowMs);
  const { blocked, policies: answered } = answer.parts[0] as PartAnswer;
  return combine(answered, { cost, blocked, source, atMs: nowMs });
}
