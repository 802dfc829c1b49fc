import type { Escalation } from '../values/escalate.ts';
import { decisionOf, type PolicyDecision } from './decision.ts';
import { afterDenial, dropExpired } from './denial-count.ts';
import type { Evaluation } from './evaluation.ts';
import type { Contents } from './key-contents.ts';
import { countsDenied, type NamedPolicy } from './policy.ts';
import type { DecidingRequest, KeyState, Part, PartAnswer } from './store.ts';

/** Consumes or peeks. The twin of stores/redis/lua/decide.lua. */
export function decide({ op, parts }: DecidingRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  const before = keys.map(({ states }) => states);
  const answers: PartAnswer[] = [];
  let denied: Map<KeyState, Escalation> | undefined;
  let deniedCosts: DeniedCost[] | undefined;
  let allowed = true;
  let charged = false;

  for (let i = 0; i < parts.length; i++) {
    const { limit, cost, holder } = parts[i] as Part;
    const key = keys[i] as KeyState;
    const blockedMs = Math.max(key.blockedUntilMs - nowMs, 0);
    const after: unknown[] = [];
    const policies: PolicyDecision[] = [];
    let allows = true;
    for (let j = 0; j < limit.policies.length; j++) {
      const named = limit.policies[j] as NamedPolicy;
      const { state, verdict } = named.algorithm.kernel(named.policy, key.states[j], cost, nowMs, holder);
      after.push(state);
      policies.push(decisionOf(named, verdict));
      allows &&= verdict.allowed;
      if (!verdict.allowed && blockedMs === 0 && countsDenied(named))
        (deniedCosts ??= []).push({ key, named, j, cost });
    }
    allowed &&= allows && blockedMs === 0;
    answers.push({ blocked: blockedMs > 0, policies });
    if (cost === 0) continue;
    charged = true;
    // At once, so that a second part on the same key sees what the first one took; undone below.
    if (allows) key.states = after;
    else if (limit.escalation !== undefined && blockedMs === 0) {
      denied ??= new Map();
      if (!denied.has(key)) denied.set(key, limit.escalation); // one request, one denial
    }
  }

  if (op === 'consume' && charged && allowed) {
    for (const key of keys) dropExpired(key, nowMs);
    return {
      answer: {
        atMs: nowMs,
        parts: answers.map((part, i) => remembering(part, parts[i] as Part, keys[i] as KeyState, nowMs)),
      },
      changed: true,
    };
  }
  for (let i = keys.length - 1; i >= 0; i--) (keys[i] as KeyState).states = before[i] as readonly unknown[];
  if (op === 'consume' && deniedCosts !== undefined) countDenials(deniedCosts, nowMs);
  const counted = denied === undefined ? undefined : afterDenials(denied, nowMs);
  const answer = {
    atMs: nowMs,
    parts: parts.map((part, i) => {
      const requested = answers[i] as PartAnswer;
      const found = keys[i] as KeyState;
      const key: Contents = counted?.get(found) ?? found;
      const blocked = requested.blocked || key.blockedUntilMs > nowMs;
      const shown = withoutConsuming(
        blocked === requested.blocked ? requested : { ...requested, blocked },
        part,
        key,
        nowMs,
      );
      return remembering(
        allowed && part.cost > 0 ? { ...shown, ifConsumed: requested.policies } : shown,
        part,
        key,
        nowMs,
      );
    }),
  };
  if (op === 'consume' && counted !== undefined) {
    for (const [key, after] of counted) Object.assign(key, after, { touched: true });
  }
  return { answer, changed: false };
}

/** The denied units of a policy that counts denials. */
interface DeniedCost {
  readonly key: KeyState;
  readonly named: NamedPolicy;
  /** The index of the policy. */
  readonly j: number;
  readonly cost: number;
}

/** Adds costs that were denied. The twin of stores/redis/lua/denied-costs.lua. */
function countDenials(denied: readonly DeniedCost[], nowMs: number): void {
  for (const { key, named, j, cost } of denied) {
    const after = named.algorithm.charge(named.policy, key.states[j], cost, undefined, nowMs);
    if (after === key.states[j]) continue;
    key.states = key.states.with(j, after);
    key.touched = true;
    dropExpired(key, nowMs);
  }
}

/** The denied keys after their denials are counted, which may block them. */
function afterDenials(denied: ReadonlyMap<KeyState, Escalation>, nowMs: number): ReadonlyMap<KeyState, Contents> {
  return new Map(
    [...denied].map(([key, escalation]): [KeyState, Contents] => [
      key,
      { states: key.states, ...afterDenial(escalation, key.denials, nowMs) },
    ]),
  );
}

/** The answer with the time until the key's denials are forgotten, where they count. */
function remembering(shown: PartAnswer, { limit }: Part, { denials }: Contents, nowMs: number): PartAnswer {
  if (denials === undefined || limit.escalation === undefined || denials.forgottenAtMs <= nowMs) return shown;
  return { ...shown, forgottenAfterMs: denials.forgottenAtMs - nowMs };
}

/**
 * The answer when nothing was consumed: policies that would have allowed state what is left without this request,
 * and a block takes precedence over all of them.
 */
function withoutConsuming({ blocked, policies }: PartAnswer, part: Part, key: Contents, nowMs: number): PartAnswer {
  if (part.cost === 0 && !blocked) return { blocked, policies };
  const blockedMs = Math.max(key.blockedUntilMs - nowMs, 0);
  return {
    blocked,
    policies: policies.map((requested, j) => {
      const named = part.limit.policies[j] as NamedPolicy;
      if (!requested.allowed && !blocked && !countsDenied(named)) return requested;
      const free = decisionOf(named, named.algorithm.kernel(named.policy, key.states[j], 0, nowMs).verdict);
      if (blocked) return whileBlocked(free, requested, blockedMs);
      const { allowed, retryAfterMs, delayMs } = requested;
      return { ...free, allowed, retryAfterMs, delayMs };
    }),
  };
}

function whileBlocked(free: PolicyDecision, requested: PolicyDecision, blockedMs: number): PolicyDecision {
  return {
    ...free,
    allowed: false,
    remaining: 0,
    retryAfterMs: requested.retryAfterMs === null ? null : Math.max(requested.retryAfterMs, blockedMs),
    resetAfterMs: Math.max(free.resetAfterMs, blockedMs),
    nextAfterMs: nextWhileBlocked(free, blockedMs),
  };
}

function nextWhileBlocked({ limit, remaining, nextAfterMs }: PolicyDecision, blockedMs: number): number | null {
  if (limit === 0) return null;
  return remaining > 0 ? blockedMs : Math.max(nextAfterMs ?? 0, blockedMs);
}
