import type { Decision, DecisionSource, PolicyDecision } from '../decision.ts';
import type { Escalation } from '../escalate.ts';
import type { NamedPolicy } from '../policy.ts';
import type { BreakerOptions } from './breaker.ts';

/** Policies that share one key, and where in the store they live: made once per limiter. */
export interface Limit {
  readonly policies: readonly NamedPolicy[];
  /** The end of the key: names the limiter and the layout of its state. */
  readonly scope: string;
  /**
   * What refusals by its policies lead to: then they are written. So nobody but the store itself may refuse requests of
   * such a limit: what is answered from what is remembered of earlier answers is not counted.
   */
  readonly escalation?: Escalation;
  /** For how long refusals may be answered from what is remembered of earlier ones: see `DenialCache`. 0: never. */
  readonly denialAgeMs?: number;
  /** Set where the numbers of the policies change while states live on. */
  readonly edition?: Edition;
  /** What is counted instead while this process stands in for the store: a share of it. */
  readonly standIn?: Limit;
  /** What {@link isPlainLimit} says, computed once: only such a limit is served by the fast paths. Absent: it is not. */
  readonly plain?: boolean;
}

/**
 * Whether a limit is one that the fast paths serve: its policies stay as they are, a refusal writes nothing, and all of its
 * state stands in the value of its key.
 */
export function isPlainLimit({ policies, escalation, edition }: Limit): boolean {
  return (
    escalation === undefined &&
    edition === undefined &&
    policies.every(({ algorithm }) => algorithm.outline === undefined)
  );
}

/** How many of the units used go over into a changed policy: all, in proportion to the limits, or none. */
export type CarryOver = 'keep' | 'proportional' | 'reset';

/** What a state that was written under other numbers is to be read by. */
export interface EarlierEdition {
  /** None where nothing is carried over. */
  readonly policies: readonly NamedPolicy[];
  readonly carryOver: CarryOver;
}

/**
 * Which of several editions of its policies a limit is. Their states live under one key and say which edition wrote
 * them: one of an earlier edition is converted, in units, by the first request that takes units; before one of a later
 * edition, or of one that is not known here, a request stops, and nothing is done.
 */
export interface Edition {
  readonly version: number;
  /** The other editions that states are converted from, by their version; `unknown`: nobody knows any more. */
  readonly earlier: ReadonlyMap<number, EarlierEdition | 'unknown'>;
  /**
   * The limit as it is to be asked again, after a state of another edition was found: of the newest edition, with what that
   * state is converted by. Undefined when there is no such limit any more.
   *
   * @param since - The edition under which units were taken that are to be settled: undefined as well when they have been
   * forgotten since.
   */
  renew?(found: number | undefined, since?: number): Promise<Limit | undefined>;
}

/** What is asked of one key. */
export interface Part {
  readonly limit: Limit;
  /** Encoded: see `encodeSubject`. */
  readonly subject: string;
  readonly cost: number;
  /** Who holds what is taken, where that has to be known: digits, see `holderOf`. */
  readonly holder?: string;
}

/** One thing to do, atomically. */
export type StoreRequest =
  /**
   * Take the cost from every part or, when one refuses, from none. `peek` takes nothing. `tentative`: what is taken may
   * have to be given back, so the answer also says how things stood without it.
   */
  | { readonly op: 'consume' | 'peek'; readonly parts: readonly Part[]; readonly tentative?: boolean }
  /**
   * Give the cost back, to each policy in the window that was over at `chargedUntilMs[i]`; 0 leaves that policy alone.
   * Nothing from the store's instant `byMs` on, where one is said.
   */
  | { readonly op: 'refund'; readonly part: Part; readonly chargedUntilMs: readonly number[]; readonly byMs?: number }
  /** Release the slots of the part's holder, or have those that are still held expire anew. What is no slot stays. */
  | { readonly op: 'release' | 'renew'; readonly part: Part }
  /**
   * Charge the cost, whatever the limits say: it has been used. To each policy in the window that is over at
   * `chargedUntilMs[i]`, as far as that lives; 0 leaves that policy alone.
   */
  | { readonly op: 'charge'; readonly part: Part; readonly chargedUntilMs: readonly number[] }
  /**
   * `reset`: forget the units and the count of refusals, but no block. `unblock`: end a block, and forget refusals and how
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
   * Nothing was decided or done: the state of some part was written by an edition that its limit does not know. Per part
   * the version found, where there was a state.
   */
  readonly stale?: readonly (number | undefined)[];
  /** After `renew`: whether all slots were still held. */
  readonly held?: boolean;
  /**
   * After a refusal the key of each part as it stood then, for whoever refuses the next ones by it: see `DenialCache`. Left
   * out by stores that nobody need be kept from.
   */
  readonly shown?: readonly ShownKey[];
}

/** What is stored under a key, decoded. Of a long state as much as tells what comes of the cost that was asked for, and of 1. */
export interface ShownKey {
  readonly blockedUntilMs: number;
  readonly states: readonly unknown[];
  /** The edition that wrote the states, where the limit has editions. */
  readonly version?: number;
}

export interface PartAnswer {
  readonly blocked: boolean;
  /** As things stand after the request. */
  readonly policies: readonly PolicyDecision[];
  /** After a peek that would have been admitted: the policies as they would stand then. */
  readonly ifTaken?: readonly PolicyDecision[];
  /** After a tentative consume that was admitted: the policies as they would stand without it. */
  readonly ifNotTaken?: readonly PolicyDecision[];
  /** Until what is remembered of refusals is forgotten: where its limit has an escalation, and something is remembered. */
  readonly forgottenAfterMs?: number;
  /** When this part was decided, where that was not at the answer's `atMs`. */
  readonly atMs?: number;
}

/**
 * Per request its answer, or the error of its own key. A failure of the whole call is a rejection (or a throw, where
 * the answer is not a promise).
 */
export type StoreAnswers = readonly (StoreAnswer | Error)[];

/** What becomes known of a call while it waits. */
export interface StoreCall {
  /** Nobody waits for the answer any more: what has not been sent need not be. */
  abandoned: boolean;
  /** Called when that becomes so. */
  onAbandoned?: () => void;
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
   * Set where answers show the keys of requests that were refused ({@link StoreAnswer.shown}), and the store's clock goes on
   * as this process's does: then limiters refuse what follows by themselves, where their `denialCache` says so.
   */
  readonly showsRefused?: boolean;
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
