import { dropExpired, withoutCount, type DenialCount } from './denial-count.ts';
import type { Evaluation } from './evaluation.ts';
import { healedStates } from './heal-state.ts';
import type { Contents } from './key-contents.ts';
import type { EditingRequest, KeyState, Part, SettlingRequest, StoreRequest } from './store.ts';

/** The key after an edit, which has to state what happens to denials. */
type Edited = Omit<Contents, 'denials'> & { readonly denials: DenialCount | undefined };

/** Every operation on a key other than consume and peek. The twin of stores/redis/lua/edits.lua. */
export function editKey(request: EditingRequest, key: KeyState | undefined, nowMs: number): Evaluation {
  switch (request.op) {
    case 'refund':
    case 'charge':
      return edit(key, nowMs, (found) => settled(request, found, nowMs));
    case 'release':
      return edit(key, nowMs, (found) => withoutSlots(request.part, found, nowMs));
    case 'renew':
      return renewed(request.part, key, nowMs);
    case 'reset':
      return edit(key, nowMs, withoutUnits);
    case 'heal':
      return healed(request, key, nowMs);
    case 'block':
      return edit(key, nowMs, (found) => {
        const { states, denials } = request.reset === true ? withoutUnits(found) : found;
        return { blockedUntilMs: nowMs + request.durationMs, states, denials };
      });
    case 'unblock':
      return edit(key, nowMs, (found) => ({ blockedUntilMs: 0, states: found.states, denials: undefined }));
  }
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
