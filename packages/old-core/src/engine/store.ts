import type { DecisionSource, PolicyDecision } from './decision.ts';
import type { Escalation } from '../values/escalate.ts';
import { countsDenied, type NamedPolicy } from './policy.ts';
import type { DenialCount } from './denial-count.ts';

export const DENIAL_AGE_MS = 1000;

/** Policies that share one key, and where in the store they live: made once per limiter. */
export interface Limit {
  readonly policies: readonly NamedPolicy[];
  /** The end of the key: names the limiter and the layout of its state. */
  readonly keySuffix: string;
  /**
   * The consequence of denials, which are written then. Only the store itself may deny requests of such a limit,
   * because denials from a cache are not counted.
   */
  readonly escalation?: Escalation;
  /** How long denials may be decided from what earlier ones have shown. 0: never. Default {@link DENIAL_AGE_MS}. */
  readonly denialAgeMs?: number;
  /** Set where the numbers of the policies change while states live on. */
  readonly policyVersion?: PolicyVersion;
  /** The limit that the local fallback counts: a share of this one. */
  readonly fallback?: Limit;
  /**
   * The result of {@link isFastPathEligible}, computed once: only such a limit takes the fast path. Absent: false.
   */
  readonly fastPathEligible?: boolean;
}

/**
 * Whether a limit can take the fast path: its policies do not change, a denial writes nothing, and its whole state
 * is in the value of its key.
 */
export function isFastPathEligible({ policies, escalation, policyVersion }: Limit): boolean {
  return (
    escalation === undefined &&
    policyVersion === undefined &&
    policies.every((named) => named.algorithm.summarize === undefined && !countsDenied(named))
  );
}

/** How many of the units used go over into a changed policy: all, or none. */
export type CarryOver = 'keep' | 'reset';

/** The policies that read a state written under other numbers. */
export interface EarlierVersion {
  /** Empty if nothing is carried over. */
  readonly policies: readonly NamedPolicy[];
  readonly carryOver: CarryOver;
}

/**
 * The version of a limit whose policies change. All versions share one key, and a state names the version that wrote
 * it. The first request that consumes units converts a state of an earlier version, in units. A state of a later or
 * unknown version stops the request, which then changes nothing.
 */
export interface PolicyVersion {
  readonly version: number;
  /** The versions from which states are converted; `unknown`: their numbers are not known any more. */
  readonly earlier: ReadonlyMap<number, EarlierVersion | 'unknown'>;
  /**
   * Loads the newest version of a subject's limit after a store has found a state of another version. Undefined when the
   * policy was removed.
   *
   * @param found - The version of the state.
   * @param since - For a settlement: the version under which the units were consumed. The result is undefined as well
   * when a later version has dropped those units.
   * @param timeoutMs - Rejects after that, with `SLUICE_STORE_TIMEOUT`.
   */
  renew?(
    subject: string,
    found: number | undefined,
    since: number | undefined,
    timeoutMs: number,
  ): Promise<Limit | undefined>;
}

/** The decoded value of one key. `evaluate` changes it in place. */
export interface KeyState {
  /** Every request is denied until then; 0 when the key is not blocked. */
  blockedUntilMs: number;
  /** One per policy; undefined means never used. A state of an unknown version is any value but undefined. */
  states: readonly unknown[];
  /** The version of the policies that wrote the states, for a limit with versions. */
  version?: number;
  /** The counted denials of a limit with an escalation. Other limits leave it unchanged. */
  denials?: DenialCount | undefined;
  /** Set where a clock that ran ahead may have left states behind: see `ServerClock`. */
  isAhead?: boolean;
  /**
   * Set when the value is written even if the request is denied: its states were converted, or a denial was counted.
   */
  touched?: boolean;
}

/** The part of a request that concerns one key. */
export interface Part {
  readonly limit: Limit;
  /**
   * The caller's key; or `#` and a hash, for a key that has more than 256 characters or begins with `#`. See
   * `encodeSubject`.
   */
  readonly subject: string;
  readonly cost: number;
  /** The caller's key as it is, of any length; absent in requests that follow from a store's own `performBatch`. */
  readonly key?: string | undefined;
  /** The holder of slots, in digits: see `holderOf`. */
  readonly holder?: string;
}

/** One operation of a store. Each is atomic. */
export type StoreRequest =
  /** Consumes the cost of every part or, when one part denies, of none. `peek` consumes nothing. */
  | { readonly op: 'consume' | 'peek'; readonly parts: readonly Part[] }
  /**
   * Refunds the cost to each policy, in the window that ends at `chargedUntilMs[i]`; 0 leaves that policy unchanged.
   * Without `chargedUntilMs`: to each policy, from its newest units, at most as many as are used. Does nothing at or
   * after the store's instant `byMs`.
   */
  | { readonly op: 'refund'; readonly part: Part; readonly chargedUntilMs?: readonly number[]; readonly byMs?: number }
  /**
   * Releases the slots of the part's holder, or extends those still held to a full `ttl` from now. Other units stay.
   */
  | { readonly op: 'release' | 'renew'; readonly part: Part }
  /**
   * Charges a cost that has been used already: it is never denied. Each policy counts it in the window that ends at
   * `chargedUntilMs[i]`, if that has not ended; 0 leaves that policy unchanged. Without `chargedUntilMs`: it is used
   * now.
   */
  | { readonly op: 'charge'; readonly part: Part; readonly chargedUntilMs?: readonly number[] }
  /**
   * `reset` removes the units and the counted denials, and keeps a block. `unblock` ends a block, and removes the
   * counted denials and earlier blocks.
   */
  | { readonly op: 'reset' | 'unblock'; readonly part: Part }
  /** `reset`: in the same step, what `reset` does. */
  | { readonly op: 'block'; readonly part: Part; readonly durationMs: number; readonly reset?: boolean }
  /**
   * Cuts states of the key that end later than a full state consumed now: the store's clock ran ahead when they were
   * written. Does nothing at or after the store's instant `byMs`. `redisStore` itself sends it.
   */
  | { readonly op: 'heal'; readonly part: Part; readonly byMs?: number };

export type DecidingRequest = Extract<StoreRequest, { op: 'consume' | 'peek' }>;
export type EditingRequest = Exclude<StoreRequest, DecidingRequest>;
export type SettlingRequest = Extract<StoreRequest, { op: 'refund' | 'charge' }>;
/** Settles a decision: it says in which windows. */
export type DecisionSettlement = SettlingRequest & { readonly chargedUntilMs: readonly number[] };

/** The answer to one request. Only `consume` and `peek` have parts: per part and policy, in order. */
export interface StoreAnswer {
  /** The store's instant of the decision, in whole milliseconds. */
  readonly atMs: number;
  readonly parts: readonly PartAnswer[];
  /** Set where something else than the store has decided: a cache. */
  readonly source?: DecisionSource;
  /**
   * Set when nothing was decided or changed: a version that its limit does not know wrote the state of some part. Per
   * part, the version found; undefined without a state.
   */
  readonly stale?: readonly (number | undefined)[];
  /** After `renew`: whether all slots were still held. */
  readonly held?: boolean;
  /** After `heal`: whether a state was cut. */
  readonly healed?: boolean;
  /**
   * After a denial, the key of each part at that instant, from which a `DenialCache` denies the next requests. Stores
   * that are as fast as a cache leave it out.
   */
  readonly snapshots?: readonly KeySnapshot[];
}

/** The decoded value of a key. A long state is cut to what decides the requested cost, and a cost of 1. */
export interface KeySnapshot {
  readonly blockedUntilMs: number;
  readonly states: readonly unknown[];
  /** The version of the policies that wrote the states, for a limit with versions. */
  readonly version?: number;
}

export interface PartAnswer {
  readonly blocked: boolean;
  /** After the request. */
  readonly policies: readonly PolicyDecision[];
  /** After a peek that would be allowed: the policies after a consume. */
  readonly ifConsumed?: readonly PolicyDecision[];
  /** Until the counted denials expire, for a limit with an escalation. */
  readonly forgottenAfterMs?: number;
  /** The instant at which this part was decided, if it is not the answer's `atMs`. */
  readonly atMs?: number;
}

/**
 * Per request its answer, or the error of its own key. A failure of the whole call rejects (or throws, where the
 * answer is not a promise).
 */
export type StoreAnswers = readonly (StoreAnswer | Error)[];

/** The state of a call while it waits. */
export interface StoreCall {
  /** Whether no caller waits for the answer any more: the store need not send what it has not sent. */
  abandoned: boolean;
  /** Called when the call is abandoned. */
  onAbandoned?: () => void;
  /** When it was sent, or earlier, by `performance.now()`, where that is known. */
  readonly sentMs?: number;
  /** When it will be abandoned, by `performance.now()`, where that is known: for stores that pass it on. */
  readonly endMs?: number;
  /**
   * Set by a store that connects for the first time: settles with that attempt, within a time of the store's own. The
   * caller's time begins then.
   */
  connecting?: Promise<unknown> | undefined;
  /** Set where the subjects of a request live on several nodes: see {@link Store.shardOf}. */
  readonly nodes?: Nodes;
}

/** How a store asks its nodes for a request over several of them: each in the time of the call, behind a breaker of its own. */
export interface Nodes {
  /** Performs requests for one subject. */
  ask(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers>;
  /** Refunds the units of one subject, in a time of its own. */
  refund(requests: readonly StoreRequest[]): StoreAnswers | Promise<StoreAnswers>;
  /** Receives work that continues after the answer, such as refunds. It never rejects. */
  inBackground(work: Promise<unknown>): void;
  /** Receives failures that the caller does not get: of another node, or of a refund. */
  reportFailure(error: unknown): void;
}

/**
 * `closed`: calls reach the store. `open`: the store has failed too often and gets no calls. `half-open`: a probe is in
 * flight, and closes the breaker if it succeeds; after a long time without requests, the next request is that probe.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** When a breaker opens, and how it closes again. */
export interface BreakerOptions {
  /** Consecutive failures, late answers included, that open the breaker. Default 5. */
  readonly failures?: number;
  /**
   * Milliseconds from a failed probe to the next one; probes are sent one at a time. The first probe is sent after a
   * fifth of that, when a connection that was reset is back. Default 500.
   */
  readonly probeEveryMs?: number;
}

/**
 * Holds the state, and changes it atomically. A store decides the requests of one call in order, at one instant of its
 * clock, each whole or not at all. A store that can answer at once answers without a promise.
 */
export interface Store {
  readonly source: DecisionSource;
  /**
   * Set where answers contain the keys of denied requests ({@link StoreAnswer.snapshots}), and the store's clock runs
   * at the rate of this process's clock. Limiters with a `denialCache` then deny further requests themselves, where the
   * store brings that along, as `redisStore` and `remoteStore` do.
   */
  readonly showsDenied?: boolean;
  /**
   * The node that holds a subject, where nodes fail independently. For a request over several of them, `perform` asks each
   * node through `call.nodes`.
   */
  shardOf?(subject: string): string | undefined;
  /** When the breaker opens. Default: `failures` 5, `probeEveryMs` 500. `false`: never. */
  readonly breaker?: BreakerOptions | false;
  /**
   * Called with each limit when its limiter is made: a store that cannot count it throws PolicyError.
   */
  checkLimit?(limit: Limit): void;
  perform(requests: readonly StoreRequest[], call?: StoreCall): StoreAnswers | Promise<StoreAnswers>;
  /** Called when a limiter takes the store. Its connections keep the process alive only from the first call on. */
  connect?(): void;
  /** Closes what the store itself opened. The next use opens it again. */
  close?(): Promise<void> | void;
}

/** Whether requests reach the store in one call, which fails as a whole: not where they have several subjects, on nodes. */
export function isOneCall(store: Store, requests: readonly StoreRequest[]): boolean {
  if (store.shardOf === undefined) return true;
  let first: string | undefined;
  for (const request of requests) {
    for (const { subject } of partsOf(request)) {
      first ??= subject;
      if (subject !== first && store.shardOf(subject) !== undefined) return false;
    }
  }
  return true;
}

export function partsOf(request: StoreRequest): readonly Part[] {
  return 'parts' in request ? request.parts : [request.part];
}

export function isPending<T>(answer: T | Promise<T>): answer is Promise<T> {
  return typeof (answer as Partial<Promise<T>>).then === 'function';
}

/**
 * The requests that refund the cost of each part of an answer, or charge it once more, in the windows that counted it.
 */
export function settlementsOf(
  op: SettlingRequest['op'],
  parts: readonly Part[],
  answer: StoreAnswer,
): readonly DecisionSettlement[] {
  return parts.flatMap((part, i): readonly DecisionSettlement[] => {
    if (part.cost === 0) return [];
    const { atMs = answer.atMs, policies } = answer.parts[i] ?? { policies: [] };
    return [{ op, part, chargedUntilMs: policies.map(({ resetAfterMs }) => atMs + resetAfterMs) }];
  });
}

/** The answer, with the keys of its parts if it denies. */
export function withSnapshots(answer: StoreAnswer, keys: readonly KeyState[]): StoreAnswer {
  const isDenied = answer.parts.some(({ blocked, policies }) => blocked || policies.some(({ allowed }) => !allowed));
  return isDenied ? { ...answer, snapshots: keys.map(snapshotOf) } : answer;
}

/** A copy, because later requests of the call may change the key. */
function snapshotOf({ blockedUntilMs, states, version }: KeyState): KeySnapshot {
  return { blockedUntilMs, states, ...(version === undefined ? {} : { version }) };
}
