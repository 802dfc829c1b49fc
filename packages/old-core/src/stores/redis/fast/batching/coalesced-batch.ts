import {
  MOST_BYTES,
  MOST_KEYS,
  workOf,
  type BatchAnswer,
  type CoalescedRequests,
  type BatchStore,
} from '../../../../engine/batch-store.ts';
import type { Limit, KeyState, Part, StoreCall } from '../../../../engine/store.ts';
import { Waiting, addTimeout, sendTogether, type Sent, type SharedCall } from './waiting.ts';

/** Upper bound of the bytes of a key and its arguments, without the subject. */
const BYTES_BESIDE = 128;
/**
 * From this many keys on, a batch goes out in two halves when nothing is in flight: the store decides one while
 * this process reads the other.
 */
const WORTH_HALVING = 16;

/**
 * A request for one key that waits for its call with equal ones, decided one after another. The first of a key
 * represents all that wait for it.
 */
export abstract class WaitingCoalesced extends Waiting implements CoalescedRequests {
  readonly limit: Limit;
  readonly cost: number;
  /** The costs and counts of all that wait for this key, on the first of them. */
  runs: number[] | undefined;
  /** The next that waits for the same key. */
  next: WaitingCoalesced | undefined = undefined;
  #last: WaitingCoalesced | undefined = undefined;

  constructor({ limit, subject, cost }: Part, timeoutMs: number) {
    super(subject, timeoutMs);
    this.limit = limit;
    this.cost = cost;
    this.runs = cost === 1 ? undefined : [cost, 1];
  }

  /** Adds another that waits for the same key. Returns whether that made another run. */
  follow(waiting: WaitingCoalesced): boolean {
    (this.#last ?? this).next = waiting;
    this.#last = waiting;
    const runs = (this.runs ??= [1, 1]);
    const end = runs.length - 2;
    if (runs[end] === waiting.cost) {
      runs[end + 1] = (runs[end + 1] as number) + 1;
      return false;
    }
    runs.push(waiting.cost, 1);
    return true;
  }

  /**
   * Called when the request was decided.
   *
   * @param key - The key before it. Changed here to the key after it, for the requests that follow.
   * @param sent - Undefined after `fail`, when the answer was too late: what the request took stays consumed.
   */
  abstract decide(key: KeyState, atMs: number, sent: Sent | undefined): void;
}

/** Requests of limits that are `fastPathEligible`, by their keys. */
export class CoalescedBatch implements SharedCall<BatchAnswer> {
  readonly #store: BatchStore;
  /** The first waiting requests of each key. */
  readonly #waiting: WaitingCoalesced[];
  readonly timeouts: number[];
  /** By key suffix and subject: made when a second one is added. */
  #known: Map<string, Map<string, WaitingCoalesced>> | undefined = undefined;
  #limit: Limit | undefined = undefined;
  #ofLimit: Map<string, WaitingCoalesced> | undefined = undefined;
  /** The work of one run of that limit for the store. */
  #workOfRun = 0;
  #work = 0;
  #bytes = 0;

  constructor(store: BatchStore, waiting: WaitingCoalesced[] = [], timeouts: number[] = []) {
    this.#store = store;
    this.#waiting = waiting;
    this.timeouts = timeouts;
  }

  /** Returns false when the batch is full, or has the same key under other numbers. */
  add(waiting: WaitingCoalesced): boolean {
    const [first] = this.#waiting;
    if (first === undefined) {
      this.#waiting.push(waiting);
      this.timeouts.push(waiting.timeoutMs);
      return true;
    }
    if (this.#known === undefined) this.#index(first);
    const { limit, subject } = waiting;
    if (this.#store.hasNodes !== true && (this.#work >= MOST_KEYS || this.#bytes >= MOST_BYTES)) return false;
    if (limit !== this.#limit) this.#select(limit);
    const known = this.#ofLimit?.get(subject);
    if (known === undefined) {
      this.#waiting.push(waiting);
      this.#index(waiting);
    } else if (known.limit !== limit || (known.runs?.length ?? 0) >= 2 * MOST_KEYS) {
      return false;
    } else if (known.follow(waiting)) {
      this.#work += this.#workOfRun;
    }
    addTimeout(this.timeouts, waiting.timeoutMs);
    return true;
  }

  /** Indexes the first waiting requests of a key. */
  #index(waiting: WaitingCoalesced): void {
    const { limit, subject } = waiting;
    if (limit !== this.#limit) this.#select(limit);
    this.#ofLimit?.set(subject, waiting);
    this.#work += this.#workOfRun;
    this.#bytes += Buffer.byteLength(subject) + BYTES_BESIDE;
  }

  #select(limit: Limit): void {
    const known = (this.#known ??= new Map<string, Map<string, WaitingCoalesced>>());
    this.#ofLimit = known.get(limit.keySuffix);
    if (this.#ofLimit === undefined) known.set(limit.keySuffix, (this.#ofLimit = new Map<string, WaitingCoalesced>()));
    this.#limit = limit;
    this.#workOfRun = workOf(limit);
  }

  /**
   * Sends the batch, in one call or several. Returns how many these are.
   *
   * @param isIdle - Whether nothing else is in flight.
   * @param left - Called when the store has answered or failed a call, however late.
   */
  send(isIdle: boolean, left: () => void): number {
    const waiting = this.#waiting;
    const half = waiting.length >> 1;
    let calls: readonly CoalescedBatch[] = [this];
    if (this.#store.hasNodes === true) calls = waiting.map((one) => this.#partOf([one], timeoutsOf(one)));
    else if (isIdle && waiting.length >= WORTH_HALVING)
      calls = [this.#partOf(waiting.slice(0, half)), this.#partOf(waiting.slice(half))];
    for (const call of calls) sendTogether(call, left);
    return calls.length;
  }

  #partOf(waiting: WaitingCoalesced[], timeouts = this.timeouts): CoalescedBatch {
    return new CoalescedBatch(this.#store, waiting, timeouts);
  }

  perform(call: StoreCall): Promise<BatchAnswer> {
    return this.#store.performBatch(this.#waiting, call);
  }

  answer({ atMs, keys, instants }: BatchAnswer, sent: Sent): void {
    const waiting = this.#waiting;
    for (let i = 0; i < waiting.length; i++)
      answerKey(waiting[i] as WaitingCoalesced, keys[i] as KeyState | Error, instants?.[i] ?? atMs, sent);
  }

  fail(error: unknown, timeoutMs: number, answers: Promise<unknown>): void {
    for (const first of this.#waiting) {
      for (let waiting: WaitingCoalesced | undefined = first; waiting !== undefined; waiting = waiting.next) {
        if (waiting.timeoutMs <= timeoutMs) waiting.leaveWith(error, answers);
      }
    }
  }

  release(): void {
    this.#waiting.length = 0;
    this.#known = undefined;
    this.#ofLimit = undefined;
  }
}

/** The timeouts of all that wait for a key. */
function timeoutsOf(first: WaitingCoalesced): number[] {
  const timeouts: number[] = [];
  for (let waiting: WaitingCoalesced | undefined = first; waiting !== undefined; waiting = waiting.next) {
    addTimeout(timeouts, waiting.timeoutMs);
  }
  return timeouts;
}

function answerKey(first: WaitingCoalesced, key: KeyState | Error, atMs: number, sent: Sent): void {
  for (let waiting: WaitingCoalesced | undefined = first; waiting !== undefined; waiting = waiting.next) {
    const isAwaited = waiting.leave();
    try {
      if (key instanceof Error) throw key;
      waiting.decide(key, atMs, isAwaited ? sent : undefined);
    } catch (error) {
      if (isAwaited) waiting.fail(error);
    }
  }
}
