import { DRIFT, localClocks, type LocalClocks } from '../../../platform/clock.ts';
import type { AnyAlgorithm } from '../../../algorithms/registry.ts';
import { combine, decisionOf, decisionOfOne, shifted, type Decision } from '../../../engine/decision.ts';
import { countsDenials, hasLongStates, holdsSlots, type NamedPolicy } from '../../../engine/policy.ts';
import { evaluate } from '../../../engine/evaluate.ts';
import type { Sent } from './batching/waiting.ts';
import { LruList, type Linked } from '../../../engine/lru-list.ts';
import { ownText } from '../../../engine/own-text.ts';
import { cellOf, type Invalidations } from './invalidations.ts';
import {
  DENIAL_AGE_MS,
  type Limit,
  type Part,
  type PartAnswer,
  type KeySnapshot,
  type StoreAnswer,
  type KeyState,
} from '../../../engine/store.ts';

/** A key as a reply showed it. */
interface DeniedKey extends Linked<DeniedKey> {
  readonly limit: Limit;
  readonly subject: string;
  /** The requested cost: the state of every policy shows when it is allowed. */
  readonly cost: number;
  readonly blockedUntilMs: number;
  readonly states: readonly unknown[];
  readonly version: number | undefined;
  /** The store's instant of this state. */
  readonly atMs: number;
  readonly sent: Sent;
  /** The cell of the subject in {@link Invalidations}. */
  readonly cell: number;
}

/**
 * The states of denied keys as replies have shown them, so that this process can deny further requests without a
 * call. Other processes only lower what is available, so a state that denies at an instant which the store's clock
 * has not passed yet denies there as well. The cache never allows.
 *
 * It stores the state, not the denial, and replays it through the kernels: each cost gets its own decision. For the
 * limit's `denialAgeMs`, it can be wrong where another process has made more available (a reset, a refund, a raised
 * policy).
 */
export class DenialCache {
  readonly #maxKeys: number;
  readonly #invalidations: Invalidations;
  readonly #clocks: LocalClocks;
  /** By key suffix and subject. */
  readonly #keys = new Map<string, Map<string, DeniedKey>>();
  readonly #order = new LruList<DeniedKey>();
  /** Key suffixes of limits whose units are consumed on several nodes and refunded when one denies. */
  readonly #excluded = new Set<string>();
  #size = 0;

  /** @param maxKeys - Keys held at most, at least 1: the most recently used ones stay. */
  constructor(maxKeys: number, invalidations: Invalidations, clocks: LocalClocks = localClocks) {
    this.#maxKeys = maxKeys;
    this.#invalidations = invalidations;
    this.#clocks = clocks;
  }

  /** Keys held at present. */
  get size(): number {
    return this.#size;
  }

  /**
   * The denial of a request that the store would deny. Undefined where the store has to decide: always where the
   * key of a part is not known.
   *
   * The decision's instant is the least that the store's clock can show by now: its waits are long enough from
   * there, and no shorter than those that the store would state. `remaining` is at most the store's.
   */
  deny(limit: Limit, subject: string, cost: number): Decision | undefined {
    if (this.#size === 0) return undefined;
    const denied = this.#keys.get(limit.keySuffix)?.get(subject);
    if (denied?.limit !== limit) return undefined;
    const monotonicMs = this.#clocks.monotonicMs();
    const dateMs = this.#clocks.dateMs();
    if (!this.#isUsable(denied, monotonicMs, dateMs)) return undefined;
    const latestMs = latest(denied, monotonicMs, dateMs);
    // One policy of one key is the usual target of an attack: its decision is made directly.
    if (
      limit.policies.length > 1 ||
      denied.blockedUntilMs > latestMs ||
      limit.fastPathEligible !== true ||
      cost === 0
    ) {
      return this.denyAll([{ limit, subject, cost }]);
    }
    const named = limit.policies[0] as NamedPolicy;
    const { verdict } = named.algorithm.kernel(named.policy, denied.states[0], cost, latestMs);
    if (verdict.allowed) return undefined;
    this.#order.use(denied);
    const atMs = earliest(denied, monotonicMs);
    return decisionOfOne(decisionOf(named, verdict, latestMs - atMs), cost, 'cache', atMs);
  }

  /** As {@link deny}, over several parts. */
  denyAll(parts: readonly Part[]): Decision | undefined {
    const answer = this.#size === 0 ? undefined : this.answerTo(parts);
    if (answer === undefined) return undefined;
    return combine(
      answer.parts.flatMap(({ policies }) => policies),
      {
        cost: Math.max(...parts.map(({ cost }) => cost)),
        blocked: answer.parts.some(({ blocked }) => blocked),
        source: 'cache',
        atMs: answer.atMs,
      },
    );
  }

  /**
   * The store's answer to a request that it would deny: the general form, for requests that {@link deny} does not
   * decide directly.
   */
  answerTo(parts: readonly Part[]): StoreAnswer | undefined {
    const keys: DeniedKey[] = [];
    const monotonicMs = this.#clocks.monotonicMs();
    const dateMs = this.#clocks.dateMs();
    let latestMs = 0;
    let earliestMs = Infinity;
    for (const part of parts) {
      const denied = this.#find(part.limit, part.subject, monotonicMs, dateMs);
      if (denied === undefined) return undefined;
      keys.push(denied);
      latestMs = Math.max(latestMs, latest(denied, monotonicMs, dateMs));
      earliestMs = Math.min(earliestMs, earliest(denied, monotonicMs));
    }
    if (!parts.some(({ cost }, i) => denies(keys[i] as DeniedKey, cost, latestMs))) return undefined;
    for (const denied of keys) this.#order.use(denied);
    const { answer } = evaluate({ op: 'consume', parts }, copiesOf(keys), latestMs);
    const aheadMs = latestMs - earliestMs;
    return { atMs: earliestMs, parts: answer.parts.map((part) => delayed(part, aheadMs)) };
  }

  /**
   * Remembers a key that a denied request has shown.
   *
   * @param key - The key after the request: as before, except for what other requests of the same call took.
   * @param atMs - The instant of that, by the store's clock.
   * @param sent - When the call was sent, or earlier, and when it was answered, or later.
   */
  remember({ limit, subject, cost }: Part, key: KeySnapshot, atMs: number, sent: Sent): void {
    const before = this.#keys.get(limit.keySuffix)?.get(subject);
    // Many denials of one call show the same key.
    if (before?.limit === limit && isCovered(before, cost, key, sent)) return;
    if (!this.#keeps(limit, key)) return;
    const cell = cellOf(subject);
    const dateMs = this.#clocks.dateMs();
    if (!this.#invalidations.isUnchangedSince(sent.sentMs, cell) || isExpired(limit, sent, sent.receivedMs, dateMs))
      return;
    if (before !== undefined) this.#drop(before);
    const { blockedUntilMs, states, version } = key;
    // One literal, so that all entries have one shape.
    this.#add({
      limit,
      subject: ownText(subject),
      cost,
      blockedUntilMs,
      states,
      version,
      atMs,
      sent,
      cell,
      older: undefined,
      newer: undefined,
    });
    this.#trim(sent.receivedMs, dateMs);
  }

  /** Remembers all keys that an answer shows: see {@link remember}. */
  rememberAll(parts: readonly Part[], { atMs, snapshots }: StoreAnswer, sent: Sent): void {
    if (snapshots === undefined) return;
    for (let i = 0; i < parts.length; i++) {
      const part = parts[i] as Part;
      // For a long state, a reply shows only what the second part needs after the first.
      if (parts.some((other) => other !== part && isSameKey(other, part)) && hasLongStates(part.limit.policies))
        continue;
      this.remember(part, snapshots[i] as KeySnapshot, atMs, sent);
    }
  }

  /** Stops caching a limit whose units are consumed and refunded while requests are decided. */
  exclude({ keySuffix }: Limit): void {
    if (this.#excluded.has(keySuffix)) return;
    this.#excluded.add(keySuffix);
    for (const denied of [...(this.#keys.get(keySuffix)?.values() ?? [])]) this.#drop(denied);
  }

  #keeps({ keySuffix, policies, escalation, policyVersion }: Limit, { version }: KeySnapshot): boolean {
    if (countsDenials({ escalation, policies })) return false; // each denial has to reach the store, which counts it
    if (policyVersion !== undefined && policyVersion.version !== version) return false;
    return !holdsSlots(policies) && !this.#excluded.has(keySuffix);
  }

  #find(limit: Limit, subject: string, monotonicMs: number, dateMs: number): DeniedKey | undefined {
    const denied = this.#keys.get(limit.keySuffix)?.get(subject);
    return denied?.limit === limit && this.#isUsable(denied, monotonicMs, dateMs) ? denied : undefined;
  }

  #isUsable(denied: DeniedKey, monotonicMs: number, dateMs: number): boolean {
    const { limit, sent, cell } = denied;
    if (this.#invalidations.isUnchangedSince(sent.sentMs, cell) && !isExpired(limit, sent, monotonicMs, dateMs))
      return true;
    this.#drop(denied);
    return false;
  }

  #add(denied: DeniedKey): void {
    const { keySuffix } = denied.limit;
    let subjects = this.#keys.get(keySuffix);
    if (subjects === undefined) this.#keys.set(keySuffix, (subjects = new Map<string, DeniedKey>()));
    subjects.set(denied.subject, denied);
    this.#order.add(denied);
    this.#size++;
  }

  #drop(denied: DeniedKey): void {
    const { keySuffix } = denied.limit;
    const subjects = this.#keys.get(keySuffix);
    if (subjects?.delete(denied.subject) !== true) return;
    if (subjects.size === 0) this.#keys.delete(keySuffix);
    this.#order.delete(denied);
    this.#size--;
  }

  /** Drops keys beyond the maximum, and expired ones, at most two at a time: more than are added. */
  #trim(monotonicMs: number, dateMs: number): void {
    for (let i = 0; i < 2; i++) {
      const { oldest } = this.#order;
      if (oldest === undefined) return;
      if (this.#size <= this.#maxKeys && !isExpired(oldest.limit, oldest.sent, monotonicMs, dateMs)) return;
      this.#drop(oldest);
    }
  }
}

/** Whether the cache already has this state, from the same call or a later one. */
function isCovered(
  denied: DeniedKey,
  cost: number,
  { states, blockedUntilMs }: KeySnapshot,
  { sentMs }: Sent,
): boolean {
  if (denied.sent.sentMs !== sentMs) return denied.sent.sentMs > sentMs;
  return denied.states === states && denied.cost === cost && denied.blockedUntilMs === blockedUntilMs;
}

/** Whether a call is too long ago. The date detects a suspended machine, whose monotonic clock stood still. */
function isExpired({ denialAgeMs = DENIAL_AGE_MS }: Limit, sent: Sent, monotonicMs: number, dateMs: number): boolean {
  return monotonicMs - sent.sentMs >= denialAgeMs || dateMs - sent.sentDateMs >= denialAgeMs;
}

/**
 * The latest instant that the store's clock can show by now: it showed `atMs`, or up to a millisecond more, some
 * time after the call was sent.
 */
function latest({ atMs, sent }: DeniedKey, monotonicMs: number, dateMs: number): number {
  const passedMs = Math.max(monotonicMs - sent.sentMs, dateMs - sent.sentDateMs + 1); // dates are whole milliseconds
  return atMs + 1 + Math.ceil(passedMs * (1 + DRIFT));
}

function earliest({ atMs, sent }: DeniedKey, monotonicMs: number): number {
  return atMs + Math.floor(Math.max(monotonicMs - sent.receivedMs, 0) * (1 - DRIFT));
}

/** Whether the key alone denies a cost at this instant. */
function denies({ limit, cost: knownCost, blockedUntilMs, states }: DeniedKey, cost: number, nowMs: number): boolean {
  if (blockedUntilMs > nowMs) return true;
  for (let j = 0; j < limit.policies.length; j++) {
    const { algorithm, policy } = limit.policies[j] as NamedPolicy;
    const testedCost = testableCost(algorithm, knownCost, cost);
    if (!algorithm.kernel(policy, states[j], testedCost, nowMs).verdict.allowed) return true;
  }
  return false;
}

/**
 * The largest cost up to this one that the state has full information on: for a long state, a reply shows what the
 * requested cost needs, and a cost of 1. A state that denies it denies larger costs as well.
 */
function testableCost(algorithm: AnyAlgorithm, knownCost: number, cost: number): number {
  if (algorithm.summarize === undefined || cost === 0) return cost;
  return cost >= knownCost && knownCost > 0 ? knownCost : 1;
}

function isSameKey(one: Part, other: Part): boolean {
  return one.subject === other.subject && one.limit.keySuffix === other.limit.keySuffix;
}

/** The same object where two parts are one key. */
function copiesOf(keys: readonly DeniedKey[]): readonly KeyState[] {
  const copies = new Map<DeniedKey, KeyState>();
  return keys.map((denied) => {
    const { blockedUntilMs, states, version } = denied;
    const copy = copies.get(denied) ?? { blockedUntilMs, states, ...(version === undefined ? {} : { version }) };
    copies.set(denied, copy);
    return copy;
  });
}

/** The answer as of an instant that is earlier by this much. */
function delayed({ blocked, policies }: PartAnswer, ms: number): PartAnswer {
  return { blocked, policies: policies.map((policy) => shifted(policy, ms)) };
}
