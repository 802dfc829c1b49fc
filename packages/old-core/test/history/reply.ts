import type { Call, PolicyReply, Reply } from './history.ts';
import { fits, type Rule, type State } from './rules.ts';

/** Per policy of a key, its state at one instant. */
export type States = readonly State[];

export function later(rules: readonly Rule[], states: States, atMs: number): States {
  return rules.map((rule, i) => rule.later(states[i] as State, atMs));
}

/** The states after every policy is charged the cost, or undefined when one denies. */
export function consumed(rules: readonly Rule[], states: States, cost: number, atMs: number): States | undefined {
  if (!rules.every((rule, i) => fits(rule, states[i] as State, cost, atMs))) return undefined;
  return rules.map((rule, i) => rule.charge(states[i] as State, cost, atMs));
}

/**
 * The states after one denies: others than before where a policy counts what it denies itself. How far that exceeds the
 * limit makes no difference, because such histories have no refunds.
 */
function denied(rules: readonly Rule[], states: States, cost: number, atMs: number): States {
  const after = rules.map((rule, i) => {
    const state = states[i] as State;
    const left = rule.left(state, atMs);
    return rule.countsDenied === true && left > 0 && left < cost ? rule.charge(state, left, atMs) : state;
  });
  return after.every((state, i) => state === states[i]) ? states : after;
}

/** The states after a refund. */
export function refunded(rules: readonly Rule[], states: States, cost: number, charge: Reply, atMs: number): States {
  return rules.map((rule, i) => rule.giveBack(states[i] as State, cost, charge, i, atMs));
}

/**
 * The states after a call with this reply, or undefined when the reply in these states would differ in what is
 * allowed, what remains, or any wait.
 */
export function explained(rules: readonly Rule[], states: States, call: Call, reply: Reply): States | undefined {
  const { atMs, policies } = reply;
  const after = consumed(rules, states, call.cost, atMs);
  if (reply.allowed !== (after !== undefined)) return undefined;
  const shown = call.op === 'consume' ? (after ?? denied(rules, states, call.cost, atMs)) : states;
  const agrees = rules.every((rule, i) => {
    const reported = policies[i] as PolicyReply;
    const before = states[i] as State;
    return showsState(rule, shown[i] as State, reported, atMs) && showsWait(rule, before, call.cost, reported, atMs);
  });
  return agrees ? shown : undefined;
}

/** Whether the reported numbers match the state of a policy. */
function showsState(rule: Rule, state: State, reported: PolicyReply, atMs: number): boolean {
  const remaining = (waitMs: number): number => Math.max(rule.left(rule.later(state, atMs + waitMs), atMs + waitMs), 0);
  const now = remaining(0);
  const isFull = now === rule.limit;
  return (
    reported.remaining === now &&
    isFirst((waitMs) => rule.later(state, atMs + waitMs).length === 0, reported.resetAfterMs) &&
    (reported.nextAfterMs === null
      ? isFull
      : !isFull && isFirst((waitMs) => remaining(waitMs) > now, reported.nextAfterMs))
  );
}

/** Whether the reported wait matches the state of a policy before the call. */
function showsWait(rule: Rule, state: State, cost: number, reported: PolicyReply, atMs: number): boolean {
  const after = (waitMs: number): boolean => fits(rule, rule.later(state, atMs + waitMs), cost, atMs + waitMs);
  if (reported.allowed !== after(0)) return false;
  if (reported.retryAfterMs === null) return !fits(rule, [], cost, atMs);
  return isFirst(after, reported.retryAfterMs);
}

/** Whether a condition that stays true becomes true after exactly this wait. */
function isFirst(isReached: (waitMs: number) => boolean, waitMs: number): boolean {
  return isReached(waitMs) && (waitMs === 0 || !isReached(waitMs - 1));
}
