import type { KeyState } from '../evaluate.ts';
import { MOST_BYTES, MOST_KEYS, workOf, type KeyRuns, type RunStore } from '../runs.ts';
import type { Limit } from '../store.ts';
import type { Batch } from './batching.ts';
import { Waiting, noteTimeout, sendTogether, type Sent } from './waiting.ts';

/** Bytes of a key beside its subject, and of what is said of it, at most. */
const BYTES_BESIDE = 128;
/** From so many keys on a batch goes out in two halves when nothing is on its way: the store decides one while we read the other. */
const WORTH_HALVING = 16;

/**
 * One who waits for so many equal requests for one key of a plain limit, which are decided one after another. The first who
 * asks for a key stands for all who do.
 */
export abstract class WaitingRun extends Waiting implements KeyRuns {
  readonly limit: Limit;
  readonly cost: number;
  readonly count: number;
  /** What all who wait for this key ask for, where this is the first of them. */
  runs: number[] | undefined;
  /** Who came after it, for the same key. */
  next: WaitingRun | undefined = undefined;
  #last: WaitingRun | undefined = undefined;

  constructor(limit: Limit, subject: string, cost: number, count: number, timeoutMs: number) {
    super(subject, timeoutMs);
    this.limit = limit;
    this.cost = cost;
    this.count = count;
    this.runs = cost === 1 && count === 1 ? undefined : [cost, count];
  }

  /** Another who asks for the same key. Answers whether that made another run. */
  follow(waiting: WaitingRun, coalesces: boolean): boolean {
    (this.#last ?? this).next = waiting;
    this.#last = waiting;
    const runs = (this.runs ??= [1, 1]);
    const end = runs.length - 2;
    if (coalesces && runs[end] === waiting.cost) {
      runs[end + 1] = (runs[end + 1] as number) + waiting.count;
      return false;
    }
    runs.push(waiting.cost, waiting.count);
    return true;
  }

  /**
   * Called when it was decided.
   *
   * @param key - As it stood before, which is to be made what it was after, for those who come after.
   * @param sent - Undefined when it was too late, and `fail` has been called: what it took is taken all the same.
   */
  abstract decide(key: KeyState, atMs: number, sent: Sent | undefined): void;
}

/** Requests of plain limits, by their keys. */
export class RunsBatch implements Batch {
  /** Per key the first who asks. */
  readonly #asked: WaitingRun[] = [];
  readonly #timeouts: number[] = [];
  readonly #coalesces: boolean;
  readonly #isCallPerKey: boolean;
  /** By the scope of their limit, and then by their subject: made when there is a second one. */
  #known: Map<string, Map<string, WaitingRun>> | undefined = undefined;
  #limit: Limit | undefined = undefined;
  #ofLimit: Map<string, WaitingRun> | undefined = undefined;
  /** What a run of that limit costs the store. */
  #workOfRun = 0;
  #work = 0;
  #bytes = 0;

  constructor({ coalescing, oneSubjectPerCall }: RunStore) {
    this.#coalesces = coalescing !== false;
    this.#isCallPerKey = oneSubjectPerCall === true;
  }

  /** Answers whether it took it: else it is full, or asked for the same key by other numbers. */
  add(waiting: WaitingRun): boolean {
    const [first] = this.#asked;
    if (first === undefined) {
      this.#asked.push(waiting);
      this.#timeouts.push(waiting.timeoutMs);
      return true;
    }
    if (this.#known === undefined) this.#note(first);
    const { limit, subject } = waiting;
    if (!this.#isCallPerKey && (this.#work >= MOST_KEYS || this.#bytes >= MOST_BYTES)) return false;
    if (limit !== this.#limit) this.#turnTo(limit);
    const known = this.#ofLimit?.get(subject);
    if (known === undefined) {
      this.#asked.push(waiting);
      this.#note(waiting);
    } else if (known.limit !== limit || (known.runs?.length ?? 0) >= 2 * MOST_KEYS) {
      return false;
    } else if (known.follow(waiting, this.#coalesces)) {
      this.#work += this.#workOfRun;
    }
    noteTimeout(this.#timeouts, waiting.timeoutMs);
    return true;
  }

  /** The first who asks for a key. */
  #note(waiting: WaitingRun): void {
    const { limit, subject } = waiting;
    if (limit !== this.#limit) this.#turnTo(limit);
    this.#ofLimit?.set(subject, waiting);
    this.#work += this.#workOfRun;
    this.#bytes += subject.length + BYTES_BESIDE;
  }

  #turnTo(limit: Limit): void {
    const known = (this.#known ??= new Map<string, Map<string, WaitingRun>>());
    this.#ofLimit = known.get(limit.scope);
    if (this.#ofLimit === undefined) known.set(limit.scope, (this.#ofLimit = new Map<string, WaitingRun>()));
    this.#limit = limit;
    this.#workOfRun = workOf(limit);
  }

  send(store: RunStore, isIdle: boolean): readonly Promise<unknown>[] {
    const asked = this.#asked;
    if (store.oneSubjectPerCall === true) return asked.map((one) => this.#send(store, [one], timeoutsOf(one)));
    if (!isIdle || asked.length < WORTH_HALVING) return [this.#send(store, asked)];
    const half = asked.length >> 1;
    return [this.#send(store, asked.slice(0, half)), this.#send(store, asked.slice(half))];
  }

  #send(store: RunStore, asked: WaitingRun[], timeouts: readonly number[] = this.#timeouts): Promise<unknown> {
    return sendTogether((call) => store.performRuns(asked, call), timeouts, {
      answer: ({ atMs, keys }, sent) => {
        for (let i = 0; i < asked.length; i++)
          answerKey(asked[i] as WaitingRun, keys[i] as KeyState | Error, atMs, sent);
      },
      fail: (error, timeoutMs) => {
        for (const first of asked) {
          for (let waiting: WaitingRun | undefined = first; waiting !== undefined; waiting = waiting.next) {
            if (waiting.timeoutMs <= timeoutMs) waiting.leaveWith(error);
          }
        }
      },
      release: () => {
        asked.length = 0;
      },
    });
  }
}

/** The times of all who wait for a key. */
function timeoutsOf(first: WaitingRun): readonly number[] {
  const timeouts: number[] = [];
  for (let waiting: WaitingRun | undefined = first; waiting !== undefined; waiting = waiting.next) {
    noteTimeout(timeouts, waiting.timeoutMs);
  }
  return timeouts;
}

function answerKey(first: WaitingRun, key: KeyState | Error, atMs: number, sent: Sent): void {
  for (let waiting: WaitingRun | undefined = first; waiting !== undefined; waiting = waiting.next) {
    const isAwaited = waiting.leave();
    try {
      if (key instanceof Error) throw key;
      waiting.decide(key, atMs, isAwaited ? sent : undefined);
    } catch (error) {
      if (isAwaited) waiting.fail(error);
    }
  }
}
