import type { BatchStore } from '../../../../engine/batch-store.ts';
import type { DecidingRequest, StoreAnswer, StoreAnswers } from '../../../../engine/store.ts';
import { Waiting, addTimeout, sendTogether, type Batch } from './waiting.ts';

/** The store itself splits calls of more requests. */
const MOST_REQUESTS = 256;

/** A decision of any kind that waits for its call. */
export class WaitingRequest extends Waiting {
  readonly request: DecidingRequest;
  readonly #resolve: (answers: StoreAnswers) => void;
  readonly #reject: (error: unknown) => void;

  constructor(
    request: DecidingRequest,
    timeoutMs: number,
    resolve: (answers: StoreAnswers) => void,
    reject: (error: unknown) => void,
  ) {
    super(request.parts[0]?.subject ?? '', timeoutMs);
    this.request = request;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  answer(answer: StoreAnswer | Error | undefined): void {
    if (this.leave()) this.#resolve(answer === undefined ? [] : [answer]);
  }

  fail(error: unknown): void {
    this.#reject(error);
  }
}

/** Decisions of any kind, in order. */
export class GeneralBatch implements Batch {
  readonly #waiting: WaitingRequest[] = [];
  readonly #timeouts: number[] = [];

  /** Returns false when the batch is full. */
  add(waiting: WaitingRequest): boolean {
    if (this.#waiting.length >= MOST_REQUESTS) return false;
    this.#waiting.push(waiting);
    addTimeout(this.#timeouts, waiting.timeoutMs);
    return true;
  }

  send(store: BatchStore): readonly Promise<unknown>[] {
    const waiting = this.#waiting;
    if (store.hasNodes === true) return waiting.map((one) => this.#send(store, [one], [one.timeoutMs]));
    return [this.#send(store, waiting)];
  }

  #send(
    store: BatchStore,
    waiting: readonly WaitingRequest[],
    timeouts: readonly number[] = this.#timeouts,
  ): Promise<unknown> {
    const requests = waiting.map(({ request }) => request);
    return sendTogether(async (call) => store.perform(requests, call), timeouts, {
      answer: (answers) => {
        for (let i = 0; i < waiting.length; i++) waiting[i]?.answer(answers[i]);
      },
      fail: (error, timeoutMs, answers) => {
        for (const one of waiting) if (one.timeoutMs <= timeoutMs) one.leaveWith(error, answers);
      },
      release: () => undefined,
    });
  }
}
