import type { Verdict } from '../algorithms/algorithm.ts';
import type { AnyAlgorithm } from '../algorithms/index.ts';
import { combine, type Decision, type PolicyDecision } from '../decision.ts';
import { holdsSlots, type NamedPolicy } from '../policy.ts';
import { evaluate, type KeyState } from './evaluate.ts';
import type { Sent } from './batching/waiting.ts';
import { DRIFT, localClocks, type LocalClocks } from './local-clocks.ts';
import { UseOrder, type Linked } from './memory/use-order.ts';
import { placeOf, type Raises } from './raises.ts';
import type { Limit, Part, PartAnswer, ShownKey, StoreAnswer } from './store.ts';

/** What limits that say nothing else are remembered for: see `Limit.denialAgeMs`. */
export const DENIAL_AGE_MS = 1000;

/** A key as some reply showed it. */
interface Seen extends Linked<Seen> {
  readonly limit: Limit;
  readonly subject: string;
  /** The cost that was asked for, for which the state of every policy tells when it is admitted. */
  readonly cost: number;
  readonly blockedUntilMs: number;
  readonly states: readonly unknown[];
  readonly version: number | undefined;
  /** The store's instant at which it was so. */
  readonly atMs: number;
  readonly sent: Sent;
  /** Of the subject among {@link Raises}. */
  readonly place: number;
}

/**
 * What this process was shown of keys whose requests were refused, so that it can refuse the next ones itself, without a
 * call. What others take only lowers what can be had: a state that refuses at an instant which the store's clock has not
 * passed yet refuses there as well. Admits nobody.
 *
 * Kept is the state, not the refusal, and replayed by the kernels: so every cost gets its own answer. Wrong it can be where
 * somebody elsewhere made more available (a reset, a refund, a policy raised), for the limit's `denialAgeMs`.
 */
export class DenialCache {
  readonly #maxKeys: number;
  readonly #raises: Raises;
  readonly #clocks: LocalClocks;
  /** By scope and subject. */
  readonly #seen = new Map<string, Map<string, Seen>>();
  readonly #order = new UseOrder<Seen>();
  /** Scopes of limits that are reserved and given back. */
  readonly #excluded = new Set<string>();
  #size = 0;

  /** @param maxKeys - Keys held at most, at least 1: those that asked last. */
  constructor(maxKeys: number, raises: Raises, clocks: LocalClocks = localClocks) {
    this.#maxKeys = maxKeys;
    this.#raises = raises;
    this.#clocks = clocks;
  }

  /** Keys held at present. */
  get size(): number {
    return this.#size;
  }

  /**
   * The refusal of a request that the store would refuse, whatever happened since it was last heard, but for what this
   * class says of raises. Undefined where it has to be asked: always where a part's key is not known.
   *
   * Its instant is the least that the store's clock can show by now: waits are enough from there, and no shorter than those
   * that the store would tell. What is left is at most what is told.
   */
  refuse(parts: readonly Part[]): StoreAnswer | undefined {
    if (this.#size === 0) return undefined;
    const keys: Seen[] = [];
    const monotonicMs = this.#clocks.monotonicMs();
    const dateMs = this.#clocks.dateMs();
    let latestMs = 0;
    let earliestMs = Infinity;
    for (const part of parts) {
      const seen = this.#find(part.limit, part.subject, monotonicMs, dateMs);
      if (seen === undefined) return undefined;
      keys.push(seen);
      latestMs = Math.max(latestMs, latest(seen, monotonicMs, dateMs));
      earliestMs = Math.min(earliestMs, earliest(seen, monotonicMs));
    }
    if (!parts.some(({ cost }, i) => refuses(keys[i] as Seen, cost, latestMs))) return undefined;
    for (const seen of keys) this.#order.use(seen);
    const { answer } = evaluate({ op: 'consume', parts }, copiesOf(keys), latestMs);
    const aheadMs = latestMs - earliestMs;
    return { atMs: earliestMs, parts: answer.parts.map((part) => delayed(part, aheadMs)) };
  }

  /**
   * The same for the usual request, of one key of a plain limit, as the decision itself: what attacks are made of.
   *
   * @param cost - At least 1.
   */
  take(limit: Limit, subject: string, cost: number): Decision | undefined {
    if (this.#size === 0) return undefined;
    const seen = this.#seen.get(limit.scope)?.get(subject);
    if (seen?.limit !== limit) return undefined;
    const monotonicMs = this.#clocks.monotonicMs();
    const dateMs = this.#clocks.dateMs();
    if (!this.#isUsable(seen, monotonicMs, dateMs)) return undefined;
    const latestMs = latest(seen, monotonicMs, dateMs);
    const named = limit.policies[0] as NamedPolicy;
    if (limit.policies.length > 1 || seen.blockedUntilMs > latestMs) {
      const answer = this.refuse([{ limit, subject, cost }]);
      const [part] = answer?.parts ?? [];
      if (answer === undefined || part === undefined) return undefined;
      return combine(part.policies, { cost, blocked: part.blocked, source: 'cache', atMs: answer.atMs });
    }
    const { verdict } = named.algorithm.kernel(named.policy, seen.states[0], cost, latestMs);
    if (verdict.allowed) return undefined;
    this.#order.use(seen);
    const atMs = earliest(seen, monotonicMs);
    const policy = refusedPolicy(named, verdict, latestMs - atMs);
    return {
      allowed: false,
      outcome: 'denied',
      policy: policy.name,
      cost,
      limit: policy.limit,
      remaining: policy.remaining,
      retryAfterMs: policy.retryAfterMs,
      resetAfterMs: policy.resetAfterMs,
      delayMs: 0,
      source: 'cache',
      atMs,
      policies: [policy],
    };
  }

  /**
   * Keeps what a reply to a request that was refused says of one of its keys.
   *
   * @param key - As it stood after the request: as before, but for what others of the same call took.
   * @param atMs - When that was, by the store's clock.
   * @param sent - When the call was sent, or earlier, and when it was answered, or later.
   */
  note({ limit, subject, cost }: Part, key: ShownKey, atMs: number, sent: Sent): void {
    const before = this.#seen.get(limit.scope)?.get(subject);
    // Of many that were refused in one call, the first says what the others do.
    if (before?.limit === limit && knows(before, cost, key, sent)) return;
    if (!this.#keeps(limit, key)) return;
    const place = placeOf(subject);
    const dateMs = this.#clocks.dateMs();
    if (!this.#raises.isSince(sent.sentMs, place) || isOver(limit, sent, sent.receivedMs, dateMs)) return;
    if (before !== undefined) this.#drop(before);
    const { blockedUntilMs, states, version } = key;
    // One literal, so that all of them have one shape.
    this.#add({
      limit,
      subject,
      cost,
      blockedUntilMs,
      states,
      version,
      atMs,
      sent,
      place,
      older: undefined,
      newer: undefined,
    });
    this.#trim(sent.receivedMs, dateMs);
  }

  /** Keeps what an answer shows of all its keys: see {@link note}. */
  noteAll(parts: readonly Part[], { atMs, shown }: StoreAnswer, sent: Sent): void {
    if (shown === undefined) return;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as Part;
      // Of a long state a reply shows what concerns the cost of the second part after that of the first.
      if (parts.some((other) => other !== part && isSameKey(other, part)) && isLong(part.limit)) continue;
      this.note(part, shown[i] as ShownKey, atMs, sent);
    }
  }

  /** Keeps nothing of a limit any more, whose units others take and give back as they decide. */
  exclude({ scope }: Limit): void {
    if (this.#excluded.has(scope)) return;
    this.#excluded.add(scope);
    for (const seen of [...(this.#seen.get(scope)?.values() ?? [])]) this.#drop(seen);
  }

  #keeps({ scope, policies, escalation, edition }: Limit, { version }: ShownKey): boolean {
    if (escalation !== undefined) return false; // its refusals are counted, where they are made
    if (edition !== undefined && edition.version !== version) return false;
    return !holdsSlots(policies) && !this.#excluded.has(scope);
  }

  #find(limit: Limit, subject: string, monotonicMs: number, dateMs: number): Seen | undefined {
    const seen = this.#seen.get(limit.scope)?.get(subject);
    return seen?.limit === limit && this.#isUsable(seen, monotonicMs, dateMs) ? seen : undefined;
  }

  #isUsable(seen: Seen, monotonicMs: number, dateMs: number): boolean {
    const { limit, sent, place } = seen;
    if (this.#raises.isSince(sent.sentMs, place) && !isOver(limit, sent, monotonicMs, dateMs)) return true;
    this.#drop(seen);
    return false;
  }

  #add(seen: Seen): void {
    const { scope } = seen.limit;
    let subjects = this.#seen.get(scope);
    if (subjects === undefined) this.#seen.set(scope, (subjects = new Map<string, Seen>()));
    subjects.set(seen.subject, seen);
    this.#order.add(seen);
    this.#size++;
  }

  #drop(seen: Seen): void {
    const { scope } = seen.limit;
    const subjects = this.#seen.get(scope);
    if (subjects?.delete(seen.subject) !== true) return;
    if (subjects.size === 0) this.#seen.delete(scope);
    this.#order.delete(seen);
    this.#size--;
  }

  /** Lets go of what is too much, and of a few that are over: more than come. */
  #trim(monotonicMs: number, dateMs: number): void {
    for (let i = 0; i < 2; i++) {
      const { oldest } = this.#order;
      if (oldest === undefined) return;
      if (this.#size <= this.#maxKeys && !isOver(oldest.limit, oldest.sent, monotonicMs, dateMs)) return;
      this.#drop(oldest);
    }
  }
}

/** Whether a key was heard of by a later call than this, or by the same, which has shown no more. */
function knows(seen: Seen, cost: number, { states, blockedUntilMs }: ShownKey, { sentMs }: Sent): boolean {
  if (seen.sent.sentMs !== sentMs) return seen.sent.sentMs > sentMs;
  return seen.states === states && seen.cost === cost && seen.blockedUntilMs === blockedUntilMs;
}

/**
 * Whether what was learnt from a call is too old. The date tells of a machine that was suspended, while its monotonic
 * clock stood still.
 */
function isOver({ denialAgeMs = DENIAL_AGE_MS }: Limit, sent: Sent, monotonicMs: number, dateMs: number): boolean {
  return monotonicMs - sent.sentMs >= denialAgeMs || dateMs - sent.sentDateMs >= denialAgeMs;
}

/**
 * The latest instant that the store's clock can show by now: it showed `atMs`, or up to a millisecond more, some time after
 * the call was sent.
 */
function latest({ atMs, sent }: Seen, monotonicMs: number, dateMs: number): number {
  const passedMs = Math.max(monotonicMs - sent.sentMs, dateMs - sent.sentDateMs + 1); // dates are whole milliseconds
  return atMs + 1 + Math.ceil(passedMs * (1 + DRIFT));
}

function earliest({ atMs, sent }: Seen, monotonicMs: number): number {
  return atMs + Math.floor(Math.max(monotonicMs - sent.receivedMs, 0) * (1 - DRIFT));
}

/** Whether the key by itself refuses a cost at this instant. */
function refuses({ limit, cost: told, blockedUntilMs, states }: Seen, cost: number, nowMs: number): boolean {
  if (blockedUntilMs > nowMs) return true;
  for (let j = 0; j < limit.policies.length; j++) {
    const { algorithm, policy } = limit.policies[j] as NamedPolicy;
    const asked = toldOf(algorithm, told, cost);
    if (!algorithm.kernel(policy, states[j], asked, nowMs).verdict.allowed) return true;
  }
  return false;
}

/**
 * The largest cost, of those that the state tells all about, that is no more than this one: of a long state a reply tells
 * no more than concerns the cost that was asked for, and 1. Whoever refuses it refuses more as well.
 */
function toldOf(algorithm: AnyAlgorithm, told: number, cost: number): number {
  if (algorithm.outline === undefined || cost === 0) return cost;
  return cost >= told && told > 0 ? told : 1;
}

function isLong({ policies }: Limit): boolean {
  return policies.some(({ algorithm }) => algorithm.outline !== undefined);
}

function isSameKey(one: Part, other: Part): boolean {
  return one.subject === other.subject && one.limit.scope === other.limit.scope;
}

/** The same object where two parts are one key. */
function copiesOf(keys: readonly Seen[]): readonly KeyState[] {
  const copies = new Map<Seen, KeyState>();
  return keys.map((seen) => {
    const { blockedUntilMs, states, version } = seen;
    const copy = copies.get(seen) ?? { blockedUntilMs, states, ...(version === undefined ? {} : { version }) };
    copies.set(seen, copy);
    return copy;
  });
}

/** An answer as of an instant that is earlier by so much. */
function delayed({ blocked, policies }: PartAnswer, ms: number): PartAnswer {
  return { blocked, policies: policies.map((policy) => delayedPolicy(policy, ms)) };
}

function delayedPolicy(policy: PolicyDecision, ms: number): PolicyDecision {
  const { retryAfterMs, resetAfterMs, nextAfterMs } = policy;
  return {
    ...policy,
    retryAfterMs: policy.allowed ? 0 : later(retryAfterMs, ms),
    resetAfterMs: resetAfterMs === 0 ? 0 : resetAfterMs + ms,
    nextAfterMs: later(nextAfterMs, ms),
  };
}

function refusedPolicy({ name, windowMs }: NamedPolicy, verdict: Verdict, ms: number): PolicyDecision {
  return {
    name,
    allowed: false,
    limit: verdict.limit,
    remaining: verdict.remaining,
    retryAfterMs: later(verdict.retryAfterMs, ms),
    resetAfterMs: verdict.resetAfterMs === 0 ? 0 : verdict.resetAfterMs + ms,
    delayMs: verdict.delayMs,
    windowMs,
    nextAfterMs: later(verdict.nextAfterMs, ms),
  };
}

function later(afterMs: number | null, ms: number): number | null {
  return afterMs === null ? null : afterMs + ms;
}
