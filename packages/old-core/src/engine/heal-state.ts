import { MOST_UNITS } from '../values/numbers.ts';
import type { NamedPolicy } from './policy.ts';
import type { KeyState, Limit, Part } from './store.ts';

/** The latest instant at which a state of this policy can end: that of a full one, whose units are consumed now. */
function latestEndMs({ algorithm, policy }: NamedPolicy, nowMs: number): number {
  return algorithm.resetAtMs(policy, algorithm.migrate(policy, MOST_UNITS, nowMs));
}

/**
 * How much later a state ends than a full one whose units are consumed now; 0 or less where it does not. Positive after
 * the server's clock stepped back, or the policy's numbers became smaller.
 */
export function aheadMs(named: NamedPolicy, state: unknown, nowMs: number): number {
  return state === undefined ? 0 : named.algorithm.resetAtMs(named.policy, state) - latestEndMs(named, nowMs);
}

/**
 * The states of a key, where those that a clock which ran ahead has left behind are cut: their units count from now.
 * Undefined when none is. Twin of `heal` in stores/redis/lua/edits.lua.
 */
export function healedStates({ policies }: Limit, { states }: KeyState, nowMs: number): readonly unknown[] | undefined {
  const healed = policies.map((named, j) => healedState(named, states[j], nowMs));
  return healed.some((state, j) => state !== states[j]) ? healed : undefined;
}

function healedState(named: NamedPolicy, state: unknown, nowMs: number): unknown {
  if (aheadMs(named, state, nowMs) <= 0) return state;
  const { algorithm, policy } = named;
  if (algorithm.heal !== undefined) return algorithm.heal(policy, state, nowMs);
  const units = algorithm.used(policy, state, nowMs);
  return units === 0 ? undefined : algorithm.migrate(policy, units, nowMs);
}

/**
 * The keys of a denied request as they are once `heal` has cut them, which it has not yet: so that the denial says to
 * wait for what is left then. Undefined where nothing would be cut.
 */
export function healedKeys(
  parts: readonly Pick<Part, 'limit'>[],
  keys: readonly KeyState[],
  nowMs: number,
): readonly KeyState[] | undefined {
  const healed = keys.map((key, i) => {
    const states = healedStates((parts[i] as Part).limit, key, nowMs);
    return states === undefined ? key : { ...key, states };
  });
  return healed.some((key, i) => key !== keys[i]) ? healed : undefined;
}
