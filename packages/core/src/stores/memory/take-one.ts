import { decisionOfOne, type Decision } from '../../decision.ts';
import type { NamedPolicy } from '../../policy.ts';
import { decisionOf } from '../evaluate.ts';
import type { Limit } from '../store.ts';
import type { Entry } from './entry.ts';
import { CHARGED, type Keys } from './keys.ts';

/**
 * Takes units of one key under a plain limit of one policy: what `evaluate` does for such a request, and the keeping of its
 * key, with nothing made but what is answered. It asks the same kernel.
 *
 * One function, and a long one: V8 compiles it by itself then, and the kernel into it, so that the states and verdicts which
 * go between them are never made.
 *
 * @returns Undefined where the key is more than its state (blocked, say, or without room): nothing has happened then.
 */
export function takeOne(keys: Keys, limit: Limit, subject: string, cost: number, nowMs: number): Decision | undefined {
  const named = limit.policies[0] as NamedPolicy;
  const table = keys.tables.of(limit);
  const slot = table?.slots.get(subject);
  if (table === undefined || slot === undefined) return takeFirst(keys, limit, named, subject, cost, nowMs);
  const { slots } = keys;
  const item = slots.itemOf(slot);
  if (typeof item !== 'string') return takeOfEntry(keys, limit, named, item, cost, nowMs);
  const { algorithm, policy, name, windowMs } = named;
  const { packing } = algorithm;
  if (packing === undefined || (policy !== table.policy && !table.packs(limit))) return undefined;

  slots.use(slot);
  const before = packing.unpack(policy, slots.firstOf(slot), slots.secondOf(slot));
  const { state, verdict } = algorithm.kernel(policy, before, cost, nowMs);
  const { allowed, retryAfterMs, delayMs, nextAfterMs: nextMs } = verdict;
  const units = verdict.limit;
  // Whole numbers already; said once more, V8 keeps them as small integers, and not as an object each.
  const remaining = Math.floor(verdict.remaining);
  const resetAfterMs = Math.floor(verdict.resetAfterMs);
  const nextAfterMs = nextMs === null ? null : Math.floor(nextMs);
  if (allowed && packing.fits?.(policy, state) === false) {
    const entry = keys.unpack(table, slot, item);
    entry.states = [state];
    keys.keep(entry, limit, nowMs);
  } else if (allowed) {
    slots.write(slot, packing.first(state), packing.second(state));
    keys.sweep(nowMs, CHARGED);
  } else if (retryAfterMs !== null) {
    keys.noteRefusal(keys.unpack(table, slot, item), retryAfterMs, nowMs);
  }
  return {
    allowed,
    outcome: allowed ? 'allowed' : 'denied',
    policy: name,
    cost,
    limit: units,
    remaining,
    retryAfterMs,
    resetAfterMs,
    delayMs: allowed ? delayMs : 0,
    source: 'memory',
    atMs: nowMs,
    policies: [{ name, allowed, limit: units, remaining, retryAfterMs, resetAfterMs, delayMs, windowMs, nextAfterMs }],
  };
}

/** Of a key that is not known. */
function takeFirst(
  keys: Keys,
  limit: Limit,
  named: NamedPolicy,
  subject: string,
  cost: number,
  nowMs: number,
): Decision | undefined {
  if (keys.isSaturated(nowMs)) return undefined;
  const { state, verdict } = named.algorithm.kernel(named.policy, undefined, cost, nowMs);
  if (verdict.allowed) keys.addState(limit, subject, state, nowMs);
  return decisionOfOne(decisionOf(named, verdict), cost, 'memory', nowMs);
}

/** Of a key whose state is more than two numbers, or that is being refused. */
function takeOfEntry(
  keys: Keys,
  limit: Limit,
  named: NamedPolicy,
  entry: Entry,
  cost: number,
  nowMs: number,
): Decision | undefined {
  if (entry.blockedUntilMs > 0 || entry.refusals !== undefined || entry.version > 0 || entry.states.length > 1) {
    return undefined;
  }
  keys.use(entry);
  const { state, verdict } = named.algorithm.kernel(named.policy, entry.states[0], cost, nowMs);
  if (verdict.allowed) {
    entry.states = [state];
    keys.keep(entry, limit, nowMs);
    keys.pack(entry, limit);
  } else if (verdict.retryAfterMs !== null) {
    keys.noteRefusal(entry, verdict.retryAfterMs, nowMs);
  }
  return decisionOfOne(decisionOf(named, verdict), cost, 'memory', nowMs);
}
