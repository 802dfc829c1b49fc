import type { Verdict } from '../algorithms/algorithm.ts';
import type { PolicyDecision } from '../decision.ts';
import type { NamedPolicy } from '../policy.ts';
import type { Escalation } from '../escalate.ts';
import { bringOver, hasEditions } from './carry-over.ts';
import { afterRefusal, dropWhatIsOver, withoutCount, type Refusals } from './escalation.ts';
import type { DecidingRequest, Part, PartAnswer, SettlingRequest, StoreAnswer, StoreRequest } from './store.ts';

/** What is stored under one key, decoded. Changed in place by {@link evaluate}. */
export interface KeyState {
  /** Refused until then, whatever the policies say; 0 when not blocked. */
  blockedUntilMs: number;
  /** One per policy; undefined is as never used. Of a version that is not known here: anything that is not undefined. */
  states: readonly unknown[];
  /** The edition that wrote the states, where the limit has editions. */
  version?: number;
  /** What is remembered of refusals. Those without an escalation leave it as it is. */
  refusals?: Refusals | undefined;
  /** Set where several subjects are counted together, for want of room: nobody is blocked for what others did. */
  readonly shared?: boolean;
  /** Set when it is to be written whatever becomes of the request: its states were brought into another edition, or a refusal was counted. */
  touched?: boolean;
}

type Contents = Pick<KeyState, 'blockedUntilMs' | 'states' | 'refusals'>;

/** What an edit makes of a key: it has to say what becomes of refusals. */
type Edited = Omit<Contents, 'refusals'> & { readonly refusals: Refusals | undefined };

/** What {@link evaluate} did: its answer, and whether the request changed its keys. One that was `touched` changed in any case. */
export interface Evaluation {
  readonly answer: StoreAnswer;
  readonly changed: boolean;
}

/**
 * Performs one request on decoded states, at one instant: the frame of the script, in TypeScript. The memory store runs
 * it on what it holds, the Redis store on the values the script says it found, so that both have their decisions from
 * the same kernels.
 *
 * @param keys - The state of each part's key, in order; the same object where two parts name one key.
 */
export function evaluate(request: StoreRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  if (!hasEditions('parts' in request ? request.parts : [request.part])) return perform(request, keys, nowMs);
  const held = request.op === 'peek' ? copiesOf(keys) : keys; // a peek writes nothing, not even the same in other numbers
  const stale = bringOver(request, held, nowMs);
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
      return edit(keys[0], nowMs, ({ blockedUntilMs, states, refusals }) => ({
        blockedUntilMs,
        states: states.map(() => undefined),
        refusals: withoutCount(refusals),
      }));
    case 'block':
      return edit(keys[0], nowMs, (key) => ({
        blockedUntilMs: nowMs + request.durationMs,
        states: key.states,
        refusals: key.refusals,
      }));
    case 'unblock':
      return edit(keys[0], nowMs, (key) => ({ blockedUntilMs: 0, states: key.states, refusals: undefined }));
  }
}

function decide({ op, parts, tentative }: DecidingRequest, keys: readonly KeyState[], nowMs: number): Evaluation {
  const before = keys.map(({ states }) => states);
  const answers: PartAnswer[] = [];
  let refused: Map<KeyState, Escalation> | undefined;
  let allowed = true;
  let charged = false;

  for (let i = 0; i < parts.length; i++) {
    const { limit, cost, holder } = parts[i] as Part;
    const key = keys[i] as KeyState;
    const blockedMs = Math.max(key.blockedUntilMs - nowMs, 0);
    const after: unknown[] = [];
    const policies: PolicyDecision[] = [];
    let admits = true;
    for (let j = 0; j < limit.policies.length; j++) {
      const named = limit.policies[j] as NamedPolicy;
      const { state, verdict } = named.algorithm.kernel(named.policy, key.states[j], cost, nowMs, holder);
      after.push(state);
      policies.push(decisionOf(named, verdict));
      admits &&= verdict.allowed;
    }
    allowed &&= admits && blockedMs === 0;
    answers.push({ blocked: blockedMs > 0, policies });
    if (cost === 0) continue;
    charged = true;
    // As it goes, so that a second part on the same key finds what the first one took; taken back below.
    if (admits) key.states = after;
    else if (limit.escalation !== undefined && blockedMs === 0 && key.shared !== true) {
      refused ??= new Map();
      if (!refused.has(key)) refused.set(key, limit.escalation); // one request, one refusal
    }
  }

  if (op === 'consume' && charged && allowed) {
    const shown =
      tentative === true
        ? answers.map((taken, i): PartAnswer => {
            const free = { blockedUntilMs: 0, states: before[i] as readonly unknown[] };
            return { ...taken, ifNotTaken: untaken(taken, parts[i] as Part, free, nowMs).policies };
          })
        : answers;
    for (const key of keys) dropWhatIsOver(key, nowMs);
    return {
      answer: {
        atMs: nowMs,
        parts: shown.map((part, i) => remembering(part, parts[i] as Part, keys[i] as KeyState, nowMs)),
      },
      changed: true,
    };
  }
  for (let i = keys.length - 1; i >= 0; i--) (keys[i] as KeyState).states = before[i] as readonly unknown[];
  const counted = refused === undefined ? undefined : afterRefusals(refused, nowMs);
  const answer = {
    atMs: nowMs,
    parts: parts.map((part, i) => {
      const asked = answers[i] as PartAnswer;
      const found = keys[i] as KeyState;
      const key: Contents = counted?.get(found) ?? found;
      const blocked = asked.blocked || key.blockedUntilMs > nowMs;
      const shown = untaken(blocked === asked.blocked ? asked : { ...asked, blocked }, part, key, nowMs);
      return remembering(allowed && part.cost > 0 ? { ...shown, ifTaken: asked.policies } : shown, part, key, nowMs);
    }),
  };
  if (op === 'consume' && counted !== undefined) {
    for (const [key, after] of counted) Object.assign(key, after, { touched: true });
  }
  return { answer, changed: false };
}

/** The keys that were refused, as they are once that has been counted: some blocked by it. */
function afterRefusals(refused: ReadonlyMap<KeyState, Escalation>, nowMs: number): ReadonlyMap<KeyState, Contents> {
  return new Map(
    [...refused].map(([key, escalation]): [KeyState, Contents] => [
      key,
      { states: key.states, ...afterRefusal(escalation, key.refusals, nowMs) },
    ]),
  );
}

/** The answer with the time until the key's refusals are forgotten, where they count. */
function remembering(shown: PartAnswer, { limit }: Part, { refusals }: Contents, nowMs: number): PartAnswer {
  if (refusals === undefined || limit.escalation === undefined || refusals.forgottenAtMs <= nowMs) return shown;
  return { ...shown, forgottenAfterMs: refusals.forgottenAtMs - nowMs };
}

/**
 * The answer when nothing was taken: who would have allowed shows what is left without this request, and a block stands
 * above them all.
 */
function untaken({ blocked, policies }: PartAnswer, part: Part, key: Contents, nowMs: number): PartAnswer {
  if (part.cost === 0 && !blocked) return { blocked, policies };
  const blockedMs = Math.max(key.blockedUntilMs - nowMs, 0);
  return {
    blocked,
    policies: policies.map((asked, j) => {
      if (!asked.allowed && !blocked) return asked;
      const named = part.limit.policies[j] as NamedPolicy;
      const free = decisionOf(named, named.algorithm.kernel(named.policy, key.states[j], 0, nowMs).verdict);
      return blocked ? whileBlocked(free, asked, blockedMs) : { ...free, delayMs: asked.delayMs };
    }),
  };
}

function whileBlocked(free: PolicyDecision, asked: PolicyDecision, blockedMs: number): PolicyDecision {
  return {
    ...free,
    allowed: false,
    remaining: 0,
    retryAfterMs: asked.retryAfterMs === null ? null : Math.max(asked.retryAfterMs, blockedMs),
    resetAfterMs: Math.max(free.resetAfterMs, blockedMs),
    nextAfterMs: free.remaining > 0 ? blockedMs : Math.max(free.nextAfterMs ?? 0, blockedMs),
  };
}

/** What a decision says of a policy. */
export function decisionOf({ name, windowMs, algorithm: { unit } }: NamedPolicy, verdict: Verdict): PolicyDecision {
  const decision = {
    name,
    allowed: verdict.allowed,
    limit: verdict.limit,
    remaining: verdict.remaining,
    retryAfterMs: verdict.retryAfterMs,
    resetAfterMs: verdict.resetAfterMs,
    delayMs: verdict.delayMs,
    windowMs,
    nextAfterMs: verdict.nextAfterMs,
  };
  return unit === undefined ? decision : { ...decision, unit };
}

function settled(
  request: SettlingRequest,
  { blockedUntilMs, states, refusals }: KeyState,
  nowMs: number,
): Edited | undefined {
  if (request.op === 'refund' && request.byMs !== undefined && nowMs >= request.byMs) return undefined;
  const { op, part, chargedUntilMs } = request;
  const { limit, cost, holder } = part;
  const after = limit.policies.map(({ algorithm, policy }, j) => {
    const state = states[j];
    const untilMs = chargedUntilMs[j] ?? 0;
    if (untilMs === 0) return state;
    if (op === 'charge') return algorithm.charge(policy, state, cost, untilMs, nowMs);
    return state === undefined ? undefined : algorithm.refund(policy, state, cost, untilMs, nowMs, holder);
  });
  return after.some((state, j) => state !== states[j]) ? { blockedUntilMs, states: after, refusals } : undefined;
}

/** The slots of a holder are nobody's any more; what else a key counts stays. */
function withoutSlots(
  { limit, cost, holder }: Part,
  { blockedUntilMs, states, refusals }: KeyState,
  nowMs: number,
): Edited | undefined {
  const after = limit.policies.map(({ algorithm, policy }, j) =>
    states[j] === undefined || algorithm.renew === undefined
      ? states[j]
      : algorithm.refund(policy, states[j], cost, 0, nowMs, holder),
  );
  return after.some((state, j) => state !== states[j]) ? { blockedUntilMs, states: after, refusals } : undefined;
}

/** The slots of a holder expire anew, those that are still held. */
function renewed({ limit, cost, holder }: Part, key: KeyState | undefined, nowMs: number): Evaluation {
  let held = limit.policies.some(({ algorithm }) => algorithm.renew !== undefined); // a managed one may hold none any more
  const { answer, changed } = edit(key, nowMs, ({ blockedUntilMs, states, refusals }) => {
    const after = limit.policies.map(({ algorithm, policy }, j) => {
      if (algorithm.renew === undefined) return states[j];
      const state = states[j] === undefined ? undefined : algorithm.renew(policy, states[j], cost, nowMs, holder);
      held &&= state !== undefined;
      return state ?? states[j];
    });
    return after.some((state, j) => state !== states[j]) ? { blockedUntilMs, states: after, refusals } : undefined;
  });
  return { answer: { ...answer, held }, changed };
}

/**
 * Replaces what is stored under the key by what `change` makes of it, unless that is nothing. A block that is over goes
 * with any change, and refusals that are forgotten.
 */
function edit(key: KeyState | undefined, nowMs: number, change: (key: KeyState) => Edited | undefined): Evaluation {
  if (key === undefined) throw new RangeError('the request names no key');
  const after = change(key);
  if (after !== undefined) {
    key.states = after.states;
    key.blockedUntilMs = after.blockedUntilMs;
    if (key.refusals !== undefined) key.refusals = after.refusals;
    dropWhatIsOver(key, nowMs);
  }
  return { answer: { atMs: nowMs, parts: [] }, changed: after !== undefined };
}

/** Whether nothing is stored: the key is as if it had never been used, and not blocked. */
export function isUnused({ blockedUntilMs, states, refusals }: Contents): boolean {
  return blockedUntilMs === 0 && refusals === undefined && states.every((state) => state === undefined);
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
export function keyResetAtMs(limit: Part['limit'], { blockedUntilMs, states, refusals }: Contents): number {
  let atMs = Math.max(blockedUntilMs, refusals?.forgottenAtMs ?? 0);
  for (let j = 0; j < limit.policies.length; j++) {
    const state = states[j];
    const { algorithm, policy } = limit.policies[j] as NamedPolicy;
    if (state !== undefined) atMs = Math.max(atMs, algorithm.resetAtMs(policy, state));
  }
  return atMs;
}
