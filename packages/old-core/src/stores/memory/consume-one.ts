import { consumeState } from '../../engine/consume-state.ts';
import type { Decision } from '../../engine/decision.ts';
import type { NamedPolicy } from '../../engine/policy.ts';
import type { Limit } from '../../engine/store.ts';
import { Entry } from './entry.ts';
import { CHARGED, type Keys } from './keys.ts';

/**
 * Consumes units of one key for a limit of the fast path with one policy. Does what `evaluate` does for such a
 * request and keeps the key, and makes no object other than the decision. Uses the same kernel.
 *
 * This is one long function because V8 then compiles the kernel into it and never allocates the states and verdicts
 * that pass between them: see docs/adr/0018-memory-at-map-speed.md.
 *
 * @returns Undefined, with nothing changed, when the key is more than its state (blocked, for example).
 */
export function consumeOne(
  keys: Keys,
  limit: Limit,
  subject: string,
  cost: number,
  nowMs: number,
): Decision | undefined {
  const named = limit.policies[0] as NamedPolicy;
  const table = keys.tables.of(limit);
  const record = table?.records.get(subject);
  if (table === undefined || record === undefined) {
    const entry = keys.expand(subject, limit, nowMs) ?? Entry.of(subject, limit);
    return consumeEntry(keys, limit, named, entry, cost, nowMs);
  }
  const { records } = keys;
  const item = records.itemOf(record);
  if (typeof item !== 'string') return consumeEntry(keys, limit, named, item, cost, nowMs);
  const { algorithm, policy, name, windowMs } = named;
  const { packing } = algorithm;
  if (packing === undefined || (policy !== table.policy && !table.packs(limit))) return undefined;

  records.use(record);
  const before = packing.unpack(policy, records.firstOf(record), records.secondOf(record));
  const { state, verdict } = algorithm.kernel(policy, before, cost, nowMs);
  const { allowed, retryAfterMs, delayMs, nextAfterMs: nextMs } = verdict;
  const units = verdict.limit;
  // These are whole numbers already; Math.floor lets V8 store them as small integers, without an object each.
  const remaining = Math.floor(verdict.remaining);
  const resetAfterMs = Math.floor(verdict.resetAfterMs);
  const nextAfterMs = nextMs === null ? null : Math.floor(nextMs);
  const used = Math.floor(verdict.used);
  if (allowed && packing.fits?.(policy, state) === false) {
    const entry = keys.unpack(table, record, item);
    entry.states = [state];
    keys.keep(entry, limit, nowMs);
  } else if (allowed) {
    records.write(record, packing.first(state), packing.second(state));
    keys.sweep(nowMs, CHARGED);
  } else if (retryAfterMs !== null) {
    keys.recordDenial(keys.unpack(table, record, item), retryAfterMs, nowMs);
    keys.trim(nowMs);
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
    used,
    policies: [
      { name, allowed, limit: units, remaining, retryAfterMs, resetAfterMs, delayMs, windowMs, nextAfterMs, used },
    ],
  };
}

/** Consumes units of a key that is new, is being denied, or has a state of more than two numbers. */
function consumeEntry(
  keys: Keys,
  limit: Limit,
  named: NamedPolicy,
  entry: Entry,
  cost: number,
  nowMs: number,
): Decision | undefined {
  if (entry.blockedUntilMs > 0 || entry.denials !== undefined || entry.version > 0 || entry.states.length > 1) {
    return undefined;
  }
  keys.use(entry);
  const { state, decision } = consumeState(named, entry.states[0], cost, nowMs, 'memory');
  if (decision.allowed) {
    entry.states = [state];
    keys.keep(entry, limit, nowMs);
    keys.pack(entry, limit);
  } else if (decision.retryAfterMs !== null) {
    keys.recordDenial(entry, decision.retryAfterMs, nowMs);
  }
  keys.trim(nowMs);
  return decision;
}
