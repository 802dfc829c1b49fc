import type { BatchStore } from '../../../../engine/batch-store.ts';
import type { DecidingRequest, StoreAnswer, StoreAnswers, StoreCall } from '../../../../engine/store.ts';
import { Waiting, addTimeout, sendTogether, type Sent, type SharedCall } from './waiting.ts';

/** The store itself splits calls of more requests. */
const MOST_REQUESTS = 256;

/** Receives what the store has answered to a request that still waited. */
export type Learn = (request: DecidingRequest, answer: StoreAnswer, sent: Sent) => void;

/** A decision of any kind that waits for its call. */
export class WaitingRequest extends Waiting {
  readonly request: DecidingRequest;
  readonly #learn: Learn;
  readonly #resolve: (answers: StoreAnswers) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    request: DecidingRequest,
    timeoutMs: number,
    learn: Learn,
    resolve: (answers: StoreAnswers) => void,
    reject: (error: unknown) => void,
  ) {
    super(request.parts[0]?.subject ?? '', timeoutMs);
    this.request = request;
    this.#learn = learn;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answer(answer: StoreAnswer | Error | undefined, sent: Sent): void {
    if (!this.leave()) return;
    if (answer !== undefined && !(answer instanceof Error)) this.#learn(this.request, answer, sent);
    this.#resolve(answer === undefined ? [] : [answer]);
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}

/** Decisions of any kind, in order. */
export class GeneralBatch implements SharedCall<StoreAnswers> {
  readonly #store: BatchStore;
  readonly #waiting: WaitingRequest[];
  readonly timeouts: number[];

  constructor(store: BatchStore, waiting: WaitingRequest[] = []) {
    this.#store = store;
    this.#waiting = waiting;
    this.timeouts = waiting.map(({ timeoutMs }) => timeoutMs);
  }

  /** Returns false when the batch is full. */
  add(waiting: WaitingRequest): boolean {
    if (this.#waiting.length >= MOST_REQUESTS) return false;
    this.#waiting.push(waiting);
    addTimeout(this.timeouts, waiting.timeoutMs);
    return true;
  }

  /** As `CoalescedBatch` does. */
  send(_isIdle: boolean, left: () => void): number {
    const calls =
      this.#store.hasNodes === true ? this.#waiting.map((one) => new GeneralBatch(this.#store, [one])) : [this];
    for (const call of calls) sendTogether(call, left);
    return calls.length;
  }

  async perform(call: StoreCall): Promise<StoreAnswers> {
    return this.#store.perform(
      this.#waiting.map(({ request }) => request),
      call,
    );
  }

  answer(answers: StoreAnswers, sent: Sent): void {
    for (let i = 0; i < this.#waiting.length; i++) this.#waiting[i]?.answer(answers[i], sent);
  }

  fail(error: unknown, timeoutMs: number, answers: Promise<unknown>): void {
    for (const one of this.#waiting) if (one.timeoutMs <= timeoutMs) one.leaveWith(error, answers);
  }

  release(): void {
    this.#waiting.length = 0;
  }
}
