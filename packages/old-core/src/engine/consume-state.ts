import { combine, decisionOf, decisionOfOne, type Decision, type DecisionSource } from './decision.ts';
import type { NamedPolicy } from './policy.ts';
import { evaluate } from './evaluate.ts';
import type { Limit, Part, PartAnswer, KeyState } from './store.ts';

/**
 * One request on the state of one policy: what {@link evaluate} does for it, where the key has no block and no other
 * policy. The decision holds whether or not the caller keeps the state that comes with it.
 *
 * @param cost - At least 1.
 */
export function consumeState(
  named: NamedPolicy,
  state: unknown,
  cost: number,
  nowMs: number,
  source: DecisionSource,
): { readonly state: unknown; readonly decision: Decision } {
  const after = named.algorithm.kernel(named.policy, state, cost, nowMs);
  const policy = decisionOf(named, after.verdict);
  return { state: after.state, decision: decisionOfOne(policy, cost, source, nowMs) };
}

/**
 * One request for a key of a limit that is `fastPathEligible`. Changes the key to what it is afterwards.
 *
 * @param part - Of a cost of at least 1.
 */
export function consumeKey(part: Part, key: KeyState, nowMs: number, source: DecisionSource): Decision {
  const { policies } = part.limit;
  const { cost } = part;
  if (policies.length === 1 && key.blockedUntilMs <= nowMs) {
    const { state, decision } = consumeState(policies[0] as NamedPolicy, key.states[0], cost, nowMs, source);
    if (decision.allowed) {
      key.states = [state];
      key.blockedUntilMs = 0;
    }
    return decision;
  }
  const { answer } = evaluate({ op: 'consume', parts: [part] }, [key], nowMs);
  const { blocked, policies: answered } = answer.parts[0] as PartAnswer;
  return combine(answered, { cost, blocked, source, atMs: nowMs });
}

/**
 * How many of `count` requests for one unit of a key are allowed one after another, where no policy has an overdraft or
 * paces.
 */
export function fittingUnits(
  { policies }: Limit,
  { blockedUntilMs, states }: Pick<KeyState, 'blockedUntilMs' | 'states'>,
  count: number,
  nowMs: number,
): number {
  let units = blockedUntilMs > nowMs ? 0 : count;
  for (let j = 0; j < policies.length; j++) {
    const { algorithm, policy } = policies[j] as NamedPolicy;
    units = Math.min(units, algorithm.kernel(policy, states[j], 0, nowMs).verdict.remaining);
  }
  return units;
}
