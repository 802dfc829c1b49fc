import { StoreError, type StoreAnswers, type StoreRequest } from '@sluice/old-core';
import {
  FRAME,
  answersToJson,
  batchAnswerToJson,
  batchFromJson,
  failureToJson,
  readText,
  requestsFromJson,
  type FrameType,
} from '@sluice/remote/wire';
import type { BatchAnswer, CoalescedRequests } from '@sluice/old-core/spi';
import type { ConnectionLimits } from './shared-limits.ts';
import type { StoreCalls } from './store-calls.ts';

/** Writes the answer to a call. */
export type WriteAnswer = (type: FrameType, id: number, answer: unknown) => void;

/** The calls of one connection. */
export class FrameCalls {
  /** Requests that the store has not answered. */
  inFlight = 0;
  readonly #calls: StoreCalls;
  readonly #limits: ConnectionLimits;
  readonly #timeoutMs: number;
  readonly #write: WriteAnswer;

  /**
   * @param timeoutMs - How long a client waits that does not say so.
   * @param write - Called once for each call.
   */
  constructor(calls: StoreCalls, limits: ConnectionLimits, timeoutMs: number, write: WriteAnswer) {
    this.#calls = calls;
    this.#limits = limits;
    this.#timeoutMs = timeoutMs;
    this.#write = write;
  }

  /** @throws FrameError for a text that is no call. */
  perform(id: number, text: Buffer): void {
    const { leftMs, requests } = requestsFromJson(readText(text), this.#limits.at);
    const sent = requests.filter((request): request is StoreRequest => !(request instanceof Error));
    const finish = (answers: StoreAnswers): void => {
      const inOrder = inPlaceOf(requests, answers);
      this.#write(FRAME.answers, id, answersToJson(requests as readonly StoreRequest[], inOrder));
    };
    if (sent.length === 0) finish([]);
    else this.#calls.perform(sent, this.#endMs(leftMs), this.#settling(id, sent.length, finish));
  }

  /** @throws FrameError for a text that is no call. */
  performBatch(id: number, text: Buffer): void {
    const { leftMs, keys } = batchFromJson(readText(text), this.#limits.at);
    const sent = keys.filter((key): key is CoalescedRequests => !(key instanceof Error));
    const failed = sent.length === 0 ? (keys[0] as Error) : this.#noBatches();
    if (failed !== undefined) {
      this.#write(FRAME.failed, id, failureToJson(failed));
      return;
    }
    const finish = ({ atMs, instants, keys: states }: BatchAnswer): void => {
      const inOrder = {
        atMs,
        keys: inPlaceOf(keys, states),
        instants: inPlaceOf(keys, instants ?? states.map(() => atMs)),
      };
      this.#write(
        FRAME.batchAnswer,
        id,
        batchAnswerToJson(keys as readonly CoalescedRequests[], inOrder as BatchAnswer),
      );
    };
    this.#calls.performBatch(sent, this.#endMs(leftMs), this.#settling(id, sent.length, finish));
  }

  #noBatches(): StoreError | undefined {
    if (this.#calls.store.performBatch !== undefined) return undefined;
    return new StoreError('SLUICE_STORE_FAILED', 'the store of this service decides no batches, as its welcome says');
  }

  #settling<Answer>(id: number, count: number, finish: (answer: Answer) => void): (answer: Answer | Error) => void {
    this.inFlight += count;
    return (answer) => {
      this.inFlight -= count;
      try {
        if (answer instanceof Error) throw answer;
        finish(answer);
      } catch (error) {
        this.#write(FRAME.failed, id, failureToJson(error)); // also where a store of another kind answers strangely
      }
    };
  }

  #endMs(leftMs: number | undefined): number {
    return performance.now() + (leftMs ?? this.#timeoutMs);
  }
}

/** The items with the errors of those that were not sent, each in its own place. */
function inPlaceOf<Item>(sent: readonly unknown[], items: readonly Item[]): readonly (Item | Error)[] {
  if (sent.length === items.length) return items;
  let next = 0;
  return sent.map((one) => (one instanceof Error ? one : (items[next++] as Item)));
}
