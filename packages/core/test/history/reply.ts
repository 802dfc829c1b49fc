import type { Call, PolicyReply, Reply } from './history.ts';
import { fits, type Rule, type State } from './rules.ts';

/** Per policy of a key, its state at one instant. */
export type States = readonly State[];

export function later(rules: readonly Rule[], states: States, atMs: number): States {
  return rules.map((rule, i) => rule.later(states[i] as State, atMs));
}

/** The states after a cost was taken from every policy, or undefined when one refuses. */
export function taken(rules: readonly Rule[], states: States, cost: number, atMs: number): States | undefined {
  if (!rules.every((rule, i) => fits(rule, states[i] as State, cost, atMs))) return undefined;
  return rules.map((rule, i) => rule.charge(states[i] as State, cost, atMs));
}

/** The states after units were given back. */
export function givenBack(rules: readonly Rule[], states: States, cost: number, charge: Reply, atMs: number): States {
  return rules.map((rule, i) => rule.giveBack(states[i] as State, cost, charge, i, atMs));
}

/**
 * The states after a call that was answered as it was, or undefined when in these states the answer would have been
 * another: in what is allowed, what remains, or any wait.
 */
export function explained(rules: readonly Rule[], states: States, call: Call, reply: Reply): States | undefined {
  const { atMs, policies } = reply;
  const after = taken(rules, states, call.cost, atMs);
  if (reply.allowed !== (after !== undefined)) return undefined;
  const shown = call.op === 'consume' && after !== undefined ? after : states;
  const agrees = rules.every((rule, i) => {
    const said = policies[i] as PolicyReply;
    const before = states[i] as State;
    return stands(rule, shown[i] as State, said, atMs) && waits(rule, before, call.cost, said, atMs);
  });
  return agrees ? shown : undefined;
}

/** Whether a policy stands as was said. */
function stands(rule: Rule, state: State, said: PolicyReply, atMs: number): boolean {
  const remaining = (waitMs: number): number => Math.max(rule.left(rule.later(state, atMs + waitMs), atMs + waitMs), 0);
  const now = remaining(0);
  const isFull = now === rule.limit;
  return (
    said.remaining === now &&
    isFirst((waitMs) => rule.later(state, atMs + waitMs).length === 0, said.resetAfterMs) &&
    (said.nextAfterMs === null ? isFull : !isFull && isFirst((waitMs) => remaining(waitMs) > now, said.nextAfterMs))
  );
}

/** Whether a policy in the state before the call would have said so. */
function waits(rule: Rule, state: State, cost: number, said: PolicyReply, atMs: number): boolean {
  const after = (waitMs: number): boolean => fits(rule, rule.later(state, atMs + waitMs), cost, atMs + waitMs);
  if (said.allowed !== after(0)) return false;
  if (said.retryAfterMs === null) return !fits(rule, [], cost, atMs);
  return isFirst(after, said.retryAfterMs);
}

/** Whether something that stays true, once it is, is true after this wait and not a millisecond before. */
function isFirst(isOver: (waitMs: number) => boolean, waitMs: number): boolean {
  return isOver(waitMs) && (waitMs === 0 || !isOver(waitMs - 1));
}
