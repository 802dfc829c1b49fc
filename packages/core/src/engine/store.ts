import type { Decision, DecisionSource, PolicyDecision } from './decision.ts';
import type { Escalation } from '../values/escalate.ts';
import type { NamedPolicy } from './policy.ts';
import type { DenialCount } from './denial-count.ts';

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
  /** How long denials may be decided from the `DenialCache`. 0: never. */
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
    policies.every(({ algorithm }) => algorithm.summarize === undefined)
  );
}

/** How many of the units used go over into a changed policy: all, in proportion to the limits, or none. */
export type CarryOver = 'keep' | 'proportional' | 'reset';

/** The policies that read a state written under other numbers. */
export interface EarlierVersion {
  /** None where nothing is carried over. */
  readonly policies: readonly NamedPolicy[];
  readonly carryOver: CarryOver;
}

/**
 * Which of several policyVersions of its policies a limit is. Their states live under one key and say which policyVersion wrote
 * them: one of an earlier policyVersion is converted, in units, by the first request that takes units; before one of a later
 * policyVersion, or of one that is not known here, a request stops, and nothing is done.
 */
export interface PolicyVersion {
  readonly version: number;
  /** The other versions that states are converted from; `unknown`: their numbers are no longer known. */
  readonly earlier: ReadonlyMap<number, EarlierVersion | 'unknown'>;
  /**
   * The limit as it is to be asked again, after a state of another policyVersion was found: of the newest policyVersion, with what that
   * state is converted by. Undefined when there is no such limit any more.
   *
   * @param since - The policyVersion under which units were taken that are to be settled: undefined as well when they have been
   * forgotten since.
   */
  renew?(found: number | undefined, since?: number): Promise<Limit | undefined>;
}

/** What is stored under one key, decoded. Changed in place by {@link evaluate}. */
export interface KeyState {
  /** Denied until then, whatever the policies say; 0 when not blocked. */
  blockedUntilMs: number;
  /** One per policy; undefined is as never used. Of a version that is not known here: anything that is not undefined. */
  states: readonly unknown[];
  /** The policyVersion that wrote the states, where the limit has policyVersions. */
  version?: number;
  /** What is remembered of denials. Those without an escalation leave it as it is. */
  denials?: DenialCount | undefined;
  /**
   * Set where several subjects are counted together, because memory is full: no subject is blocked because of
   * others.
   */
  readonly shared?: boolean;
  /** Set when it is to be written whatever becomes of the request: its states were brought into another policyVersion, or a denial was counted. */
  touched?: boolean;
}

/** The part of a request that concerns one key. */
export interface Part {
  readonly limit: Limit;
  /**
   * The caller's key, any text; or `#` and a hash, where the key has more than 256 characters or begins with `#`. See
   * `encodeSubject`.
   */
  readonly subject: string;
  readonly cost: number;
  /** The holder of what is consumed, where that has to be known: digits, see `holderOf`. */
  readonly holder?: string;
}

/** One thing to do, atomically. */
export type StoreRequest =
  /**
   * Take the cost from every part or, when one denies, from none. `peek` takes nothing. `provisional`: what is taken may
   * have to be given back, so the answer also says how things stood without it.
   */
  | { readonly op: 'consume' | 'peek'; readonly parts: readonly Part[]; readonly provisional?: boolean }
  /**
   * Give the cost back, to each policy in the window that was over at `chargedUntilMs[i]`; 0 leaves that policy alone.
   * Nothing from the store's instant `byMs` on, where one is said.
   */
  | { readonly op: 'refund'; readonly part: Part; readonly chargedUntilMs: readonly number[]; readonly byMs?: number }
  /** Release the slots of the part's holder, or have those that are still held expire a full term from now. What is no slot stays. */
  | { readonly op: 'release' | 'renew'; readonly part: Part }
  /**
   * Charge the cost, whatever the limits say: it has been used. To each policy in the window that ends at
   * `chargedUntilMs[i]`, as far as that lives; 0 leaves that policy alone.
   */
  | { readonly op: 'charge'; readonly part: Part; readonly chargedUntilMs: readonly number[] }
  /**
   * `reset`: forget the units and the count of denials, but no block. `unblock`: end a block, and forget denials and how
   * many blocks they led to.
   */
  | { readonly op: 'reset' | 'unblock'; readonly part: Part }
  | { readonly op: 'block'; readonly part: Part; readonly durationMs: number };

export type DecidingRequest = Extract<StoreRequest, { op: 'consume' | 'peek' }>;
export type EditingRequest = Exclude<StoreRequest, DecidingRequest>;
export type SettlingRequest = Extract<StoreRequest, { op: 'refund' | 'charge' }>;

/**
 * What a store answers to `consume` and `peek`: per part and policy, in order. Other operations answer with no parts.
 */
export interface StoreAnswer {
  /** The store's clock when it decided, whole milliseconds. */
  readonly atMs: number;
  readonly parts: readonly PartAnswer[];
  /**
   * Nothing was decided or done: the state of some part was written by an policyVersion that its limit does not know. Per part
   * the version found, where there was a state.
   */
  readonly stale?: readonly (number | undefined)[];
  /** After `renew`: whether all slots were still held. */
  readonly held?: boolean;
  /**
   * After a denial the key of each part at that instant, so that a `DenialCache` can deny the next requests. Left
   * out by stores that are as fast as a cache.
   */
  readonly shown?: readonly KeySnapshot[];
}

/** What is stored under a key, decoded. Of a long state as much as tells what comes of the cost that was asked for, and of 1. */
export interface KeySnapshot {
  readonly blockedUntilMs: number;
  readonly states: readonly unknown[];
  /** The policyVersion that wrote the states, where the limit has policyVersions. */
  readonly version?: number;
}

export interface PartAnswer {
  readonly blocked: boolean;
  /** As things stand after the request. */
  readonly policies: readonly PolicyDecision[];
  /** After a peek that would have been allowed: the policies as they would stand then. */
  readonly ifConsumed?: readonly PolicyDecision[];
  /** After a provisional consume that was allowed: the policies as they would stand without it. */
  readonly ifNotConsumed?: readonly PolicyDecision[];
  /** Until what is remembered of denials is forgotten: where its limit has an escalation, and something is remembered. */
  readonly forgottenAfterMs?: number;
  /** When this part was decided, where that was not at the answer's `atMs`. */
  readonly atMs?: number;
}

/**
 * Per request its answer, or the error of its own key. A failure of the whole call is a rejection (or a throw, where
 * the answer is not a promise).
 */
export type StoreAnswers = readonly (StoreAnswer | Error)[];

/** The state of a call while it waits. */
export interface StoreCall {
  /** No caller waits for the answer any more: what has not been sent need not be. */
  abandoned: boolean;
  /** Called when the call is abandoned. */
  onAbandoned?: () => void;
}

/**
 * `closed`: calls reach the store. `open`: it failed too often, and gets no calls. `half-open`: a probe is in
 * flight that closes the breaker if it succeeds; or, after a long time without requests, the next request is that
 * probe.
 */
export type BreakerState = 'closed' | 'open' | 'half-open';

/** When decisions stop waiting for a store that fails, and how they start again. */
export interface BreakerOptions {
  /** Failures in a row, late answers included, that open the breaker. Default 5. */
  readonly failures?: number;
  /**
   * How long after a probe has failed the next one is sent, in milliseconds; one at a time. The first one comes after a
   * fifth of that: a connection that was reset is back by then. Default 500.
   */
  readonly probeEveryMs?: number;
}

/**
 * Where state lives and is changed atomically. Requests of one call are decided in order, at one instant of the store's
 * clock, each whole or not at all. A store that can answer at once does, without a promise.
 */
export interface Store {
  readonly source: DecisionSource;
  /** Set where keys of several subjects live on different nodes, so that one call cannot decide over them. */
  readonly oneSubjectPerCall?: boolean;
  /**
   * Set where answers show the keys of requests that were denied ({@link StoreAnswer.shown}), and the store's clock goes on
   * as this process's does: then limiters deny what follows by themselves, where their `denialCache` says so.
   */
  readonly showsDenied?: boolean;
  /** Which part of the store a subject lives in, where there are parts that fail by themselves. */
  shardOf?(subject: string): string | undefined;
  /** When decisions stop waiting for it while it fails. Default: `failures` 5, `probeEveryMs` 500. `false`: never. */
  readonly breaker?: BreakerOptions | false;
  /**
   * Called with each limit that a limiter is going to ask for, when it is made: a store that cannot count it throws
   * PolicyError.
   */
  checkLimit?(limit: Limit): void;
  /**
   * Takes units of one key under a plain limit, where the store can do that at once and by a shorter way than `perform`.
   * Undefined where it cannot: nothing has happened then, and `perform` is to be asked. `cost` is at least 1.
   */
  take?(limit: Limit, subject: string, cost: number): Decision | undefined;
  perform(requests: readonly StoreRequest[], call?: StoreCall): StoreAnswers | Promise<StoreAnswers>;
  /** Ends what the store itself opened. It opens again when it is used again. */
  close?(): Promise<void> | void;
}

export function isPending<T>(answer: T | Promise<T>): answer is Promise<T> {
  return typeof (answer as Partial<Promise<T>>).then === 'function';
}

/** What gives back the cost of each part of an answer, or charges it once more, in the windows it was charged in. */
export function settlementsOf(
  op: SettlingRequest['op'],
  parts: readonly Part[],
  answer: StoreAnswer,
): readonly SettlingRequest[] {
  return parts.flatMap((part, i): readonly SettlingRequest[] => {
    if (part.cost === 0) return [];
    const { atMs = answer.atMs, policies } = answer.parts[i] ?? { policies: [] };
    return [{ op, part, chargedUntilMs: policies.map(({ resetAfterMs }) => atMs + resetAfterMs) }];
  });
}

/** An answer that shows its keys where it denies. */
export function withSnapshots(answer: StoreAnswer, keys: readonly KeyState[]): StoreAnswer {
  const isDenied = answer.parts.some(({ blocked, policies }) => blocked || policies.some(({ allowed }) => !allowed));
  return isDenied ? { ...answer, shown: keys.map(snapshotOf) } : answer;
}

/** As it stands now: later requests of the call may change it. */
function snapshotOf({ blockedUntilMs, states, version }: KeyState): KeySnapshot {
  return { blockedUntilMs, states, ...(version === undefined ? {} : { version }) };
}
