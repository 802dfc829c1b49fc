import { decisionOf, type PolicyDecision } from './decision.ts';
import { countsDenied, type NamedPolicy } from './policy.ts';
import type { Escalation } from '../values/escalate.ts';
import { healedStates } from './heal-state.ts';
import { migrateStates, hasPolicyVersions } from './migrate-state.ts';
import { afterDenial, dropExpired, withoutCount, type DenialCount } from './denial-count.ts';
import type {
  DecidingRequest,
  KeyState,
  Part,
  PartAnswer,
  SettlingRequest,
  StoreAnswer,
  StoreRequest,
} from './store.ts';

type Contents = Pick<KeyState, 'blockedUntilMs' | 'states' | 'denials'>;

/** The key after an edit, which has to state what happens to denials. */
type Edited = Omit<Contents, 'denials'> & { readonly denials: DenialCount | undefined };

/**
 * The result of {@link evaluate}: its answer, and whether the request changed its keys. A key that is `touched` has
 * changed in any case.
 */
export interface Evaluation {
  readonly answer: StoreAnswer;
  readonly changed: boolean;
}

/**
 * Performs one request on decoded states, at one instant: the general script, in TypeScript. The memory store runs
 * it on its own states, the Redis store on the values that the script found, so that both decide by the same
 * kernels.
 *
 * @param keys - The state of each part's key, in order; the same object where two parts name one key.
 */
export function evaluate(request: StoreRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  if (!hasPolicyVersions('parts' in request ? request.parts : [request.part])) return perform(request, keys, nowMs);
  const held = request.op === 'peek' ? copiesOf(keys) : keys; // a peek writes nothing, not even a converted state
  const stale = migrateStates(request, held, nowMs);
  return stale === undefined
    ? perform(request, held, nowMs)
    : { answer: { atMs: nowMs, parts: [], stale }, changed: false };
}

/** The same object where two are one key. */
function copiesOf(keys: readonly KeyState[]): readonly KeyState[] {
  const copies = new Map<KeyState, KeyState>();
  return keys.map((key) => {
    const copy = copies.get(key) ?? { ...key };
    copies.set(key, copy);
    return copy;
  });
}

function perform(request: StoreRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  switch (request.op) {
    case 'consume':
    case 'peek':
      return decide(request, keys, nowMs);
    case 'refund':
    case 'charge':
      return edit(keys[0], nowMs, (key) => settled(request, key, nowMs));
    case 'release':
      return edit(keys[0], nowMs, (key) => withoutSlots(request.part, key, nowMs));
    case 'renew':
      return renewed(request.part, keys[0], nowMs);
    case 'reset':
      return edit(keys[0], nowMs, withoutUnits);
    case 'heal':
      return healed(request, keys[0], nowMs);
    case 'block':
      return edit(keys[0], nowMs, (key) => {
        const { states, denials } = request.reset === true ? withoutUnits(key) : key;
        return { blockedUntilMs: nowMs + request.durationMs, states, denials };
      });
    case 'unblock':
      return edit(keys[0], nowMs, (key) => ({ blockedUntilMs: 0, states: key.states, denials: undefined }));
  }
}

function decide({ op, parts, provisional }: DecidingRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
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
    const shown =
      provisional === true
        ? answers.map((consumed, i): PartAnswer => {
            const free = { blockedUntilMs: 0, states: before[i] as readonly unknown[] };
            return { ...consumed, ifNotConsumed: withoutConsuming(consumed, parts[i] as Part, free, nowMs).policies };
          })
        : answers;
    for (const key of keys) dropExpired(key, nowMs);
    return {
      answer: {
        atMs: nowMs,
        parts: shown.map((part, i) => remembering(part, parts[i] as Part, keys[i] as KeyState, nowMs)),
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

/** What a policy that counts what it denies has denied. */
interface DeniedCost {
  readonly key: KeyState;
  readonly named: NamedPolicy;
  /** The index of the policy. */
  readonly j: number;
  readonly cost: number;
}

/** Adds costs that were denied. The twin of frame/denied-costs.lua. */
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

function withoutUnits({ blockedUntilMs, states, denials }: KeyState): Edited {
  return { blockedUntilMs, states: states.map(() => undefined), denials: withoutCount(denials) };
}

function settled(
  request: SettlingRequest,
  { blockedUntilMs, states, denials }: KeyState,
  nowMs: number,
): Edited | undefined {
  if (request.op === 'refund' && request.byMs !== undefined && nowMs >= request.byMs) return undefined;
  const { op, part, chargedUntilMs } = request;
  const { limit, cost, holder } = part;
  const after = limit.policies.map(({ algorithm, policy }, j) => {
    const state = states[j];
    const untilMs = chargedUntilMs === undefined ? undefined : (chargedUntilMs[j] ?? 0);
    if (untilMs === 0 || (untilMs === undefined && algorithm.renew !== undefined)) return state;
    if (op === 'charge') return algorithm.charge(policy, state, cost, untilMs, nowMs);
    return state === undefined ? undefined : algorithm.refund(policy, state, cost, untilMs, nowMs, holder);
  });
  return after.some((state, j) => state !== states[j]) ? { blockedUntilMs, states: after, denials } : undefined;
}

/** Releases the slots of a holder; everything else that the key counts stays. */
function withoutSlots(
  { limit, cost, holder }: Part,
  { blockedUntilMs, states, denials }: KeyState,
  nowMs: number,
): Edited | undefined {
  const after = limit.policies.map(({ algorithm, policy }, j) =>
    states[j] === undefined || algorithm.renew === undefined
      ? states[j]
      : algorithm.refund(policy, states[j], cost, 0, nowMs, holder),
  );
  return after.some((state, j) => state !== states[j]) ? { blockedUntilMs, states: after, denials } : undefined;
}

/** Renews the slots of a holder that are still held. */
function renewed({ limit, cost, holder }: Part, key: KeyState | undefined, nowMs: number): Evaluation {
  let held = limit.policies.some(({ algorithm }) => algorithm.renew !== undefined); // a managed policy may no longer hold slots
  const { answer, changed } = edit(key, nowMs, ({ blockedUntilMs, states, denials }) => {
    const after = limit.policies.map(({ algorithm, policy }, j) => {
      if (algorithm.renew === undefined) return states[j];
      const state = states[j] === undefined ? undefined : algorithm.renew(policy, states[j], cost, nowMs, holder);
      held &&= state !== undefined;
      return state ?? states[j];
    });
    return after.some((state, j) => state !== states[j]) ? { blockedUntilMs, states: after, denials } : undefined;
  });
  return { answer: { ...answer, held }, changed };
}

function healed(
  { part: { limit }, byMs = Infinity }: Extract<StoreRequest, { op: 'heal' }>,
  key: KeyState | undefined,
  nowMs: number,
): Evaluation {
  const { answer, changed } = edit(key, nowMs, (found) => {
    if (nowMs >= byMs) return undefined;
    const states = healedStates(limit, found, nowMs);
    return states && { blockedUntilMs: found.blockedUntilMs, states, denials: found.denials };
  });
  return { answer: { ...answer, healed: changed }, changed };
}

/**
 * Replaces the state of the key by the result of `change`, unless that is undefined. Any change also drops an ended
 * block, and expired denials.
 */
function edit(key: KeyState | undefined, nowMs: number, change: (key: KeyState) => Edited | undefined): Evaluation {
  if (key === undefined) throw new RangeError('the request names no key');
  const after = change(key);
  if (after !== undefined) {
    key.states = after.states;
    key.blockedUntilMs = after.blockedUntilMs;
    if (key.denials !== undefined) key.denials = after.denials;
    dropExpired(key, nowMs);
  }
  return { answer: { atMs: nowMs, parts: [] }, changed: after !== undefined };
}

/** Whether nothing is stored: the key is as if it had never been used, and not blocked. */
export function isUnused({ blockedUntilMs, states, denials }: Contents): boolean {
  return blockedUntilMs === 0 && denials === undefined && states.every((state) => state === undefined);
}

/** When the last of the slots that are held under a key expire; 0 where there are none. */
export function slotsEndAtMs({ policies }: Part['limit'], { states }: Pick<Contents, 'states'>): number {
  let atMs = 0;
  for (let j = 0; j < policies.length; j++) {
    const { algorithm, policy } = policies[j] as NamedPolicy;
    if (algorithm.renew !== undefined && states[j] !== undefined) {
      atMs = Math.max(atMs, algorithm.resetAtMs(policy, states[j]));
    }
  }
  return atMs;
}

/** The instant from which the key is as if it had never been used. */
export function keyResetAtMs(limit: Part['limit'], { blockedUntilMs, states, denials }: Contents): number {
  let atMs = Math.max(blockedUntilMs, denials?.forgottenAtMs ?? 0);
  for (let j = 0; j < limit.policies.length; j++) {
    const state = states[j];
    const { algorithm, policy } = limit.policies[j] as NamedPolicy;
    if (state !== undefined) atMs = Math.max(atMs, algorithm.resetAtMs(policy, state));
  }
  return atMs;
}
