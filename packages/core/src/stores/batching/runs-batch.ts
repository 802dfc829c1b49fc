import type { KeyState } from '../evaluate.ts';
import { MOST_BYTES, MOST_KEYS, type KeyRuns, type RunStore } from '../runs.ts';
import type { Limit } from '../store.ts';
import type { Batch } from './batching.ts';
import { Waiting, sendTogether, type Sent } from './waiting.ts';

/** Bytes of a key beside its subject, and of what is said of it, at most. */
const BYTES_BESIDE = 128;
/** From so many keys on a batch goes out in two halves when nothing is on its way: the store decides one while we read the other. */
const WORTH_HALVING = 16;

/** One who waits for so many equal requests for one key of a plain limit, which are decided one after another. */
export abstract class WaitingRun extends Waiting {
  readonly limit: Limit;
  readonly cost: number;
  readonly count: number;
  /** Who came after it, for the same key. */
  next: WaitingRun | undefined;

  constructor(limit: Limit, subject: string, cost: number, count: number, timeoutMs: number) {
    super(subject, timeoutMs);
    this.limit = limit;
    this.cost = cost;
    this.count = count;
  }

  /**
   * Called when it was decided.
   *
   * @param key - As it stood before, which is to be made what it was after, for those who come after.
   * @param sent - Undefined when it was too late, and `fail` has been called: what it took is taken all the same.
   */
  abstract decide(key: KeyState, atMs: number, sent: Sent | undefined): void;
}

/** All who wait for one key, in order. */
class Asked implements KeyRuns {
  readonly limit: Limit;
  readonly subject: string;
  runs: number[] | undefined;
  readonly first: WaitingRun;
  #last: WaitingRun;

  constructor(first: WaitingRun) {
    this.limit = first.limit;
    this.subject = first.subject;
    this.runs = first.cost === 1 && first.count === 1 ? undefined : [first.cost, first.count];
    this.first = this.#last = first;
  }

  /** Answers whether that made another run. */
  add(waiting: WaitingRun, coalesces: boolean): boolean {
    this.#last = this.#last.next = waiting;
    const runs = (this.runs ??= [1, 1]);
    const end = runs.length - 2;
    if (coalesces && runs[end] === waiting.cost) {
      runs[end + 1] = (runs[end + 1] as number) + waiting.count;
      return false;
    }
    runs.push(waiting.cost, waiting.count);
    return true;
  }
}

/** Requests of plain limits, by their keys. */
export class RunsBatch implements Batch {
  readonly #asked: Asked[] = [];
  readonly #timeouts = new Set<number>();
  readonly #coalesces: boolean;
  /** By the scope of their limit, and then by their subject. */
  readonly #known = new Map<string, Map<string, Asked>>();
  #limit: Limit | undefined;
  #ofLimit: Map<string, Asked> | undefined;
  #runs = 0;
  #bytes = 0;

  constructor(coalesces: boolean) {
    this.#coalesces = coalesces;
  }

  /** Answers whether it took it: else it is full, or asked for the same key by other numbers. */
  add(waiting: WaitingRun): boolean {
    const { limit, subject } = waiting;
    if (this.#runs >= MOST_KEYS || this.#bytes >= MOST_BYTES) return false;
    if (limit !== this.#limit) {
      this.#ofLimit = this.#known.get(limit.scope);
      if (this.#ofLimit === undefined) this.#known.set(limit.scope, (this.#ofLimit = new Map<string, Asked>()));
      this.#limit = limit;
    }
    const known = this.#ofLimit?.get(subject);
    if (known === undefined) {
      const asked = new Asked(waiting);
      this.#asked.push(asked);
      this.#ofLimit?.set(subject, asked);
      this.#runs++;
      this.#bytes += subject.length + BYTES_BESIDE;
    } else if (known.limit !== limit) {
      return false;
    } else if (known.add(waiting, this.#coalesces)) {
      this.#runs++;
    }
    this.#timeouts.add(waiting.timeoutMs);
    return true;
  }

  send(store: RunStore, isIdle: boolean): readonly Promise<unknown>[] {
    const asked = this.#asked;
    if (store.oneSubjectPerCall === true) return asked.map((one) => this.#send(store, [one]));
    if (!isIdle || asked.length < WORTH_HALVING) return [this.#send(store, asked)];
    const half = asked.length >> 1;
    return [this.#send(store, asked.slice(0, half)), this.#send(store, asked.slice(half))];
  }

  #send(store: RunStore, asked: readonly Asked[]): Promise<unknown> {
    return sendTogether((call) => store.performRuns(asked, call), this.#timeouts, {
      answer: ({ atMs, keys }, sent) => {
        for (let i = 0; i < asked.length; i++) answerKey(asked[i] as Asked, keys[i] as KeyState | Error, atMs, sent);
      },
      fail: (error, timeoutMs) => {
        for (const { first } of asked) {
          for (let waiting: WaitingRun | undefined = first; waiting !== undefined; waiting = waiting.next) {
            if (waiting.timeoutMs <= timeoutMs) waiting.leaveWith(error);
          }
        }
      },
    });
  }
}

function answerKey({ first }: Asked, key: KeyState | Error, atMs: number, sent: Sent): void {
  for (let waiting: WaitingRun | undefined = first; waiting !== undefined; waiting = waiting.next) {
    if (key instanceof Error) waiting.leaveUnreadable(key);
    else waiting.decide(key, atMs, waiting.leave() ? sent : undefined);
  }
}
