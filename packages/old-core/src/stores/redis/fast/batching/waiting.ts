import { Deadline, withinDeadline } from '../../../../guard/deadline.ts';
import type { Shard } from '../../../../guard/shard.ts';
import type { StoreCall } from '../../../../engine/store.ts';

/** When a call was sent and answered, by `performance.now()`. */
export interface Sent {
  readonly sentMs: number;
  /** The same by `Date.now()`, which continues while a machine is suspended. */
  readonly sentDateMs: number;
  readonly receivedMs: number;
}

/** A request that waits for a shared call, no longer than `timeoutMs`. */
export abstract class Waiting {
  readonly subject: string;
  readonly timeoutMs: number;
  #shard: Shard | undefined;
  #generation = 0;

  constructor(subject: string, timeoutMs: number) {
    this.subject = subject;
    this.timeoutMs = timeoutMs;
  }

  /** @throws StoreError `SLUICE_BREAKER_OPEN`: the shard must not be called. */
  enter(shard: Shard): void {
    this.#generation = shard.breaker.enter();
    this.#shard = shard;
  }

  /** Called when the store has answered. Returns whether it still waited. */
  leave(): boolean {
    const shard = this.#shard;
    if (shard === undefined) return false;
    this.#shard = undefined;
    shard.breaker.succeeded(this.#generation);
    return true;
  }

  /**
   * Called when the store has failed.
   *
   * @param answers - The store's promise.
   */
  leaveWith(error: unknown, answers: Promise<unknown>): void {
    const shard = this.#shard;
    if (shard === undefined) return;
    this.#shard = undefined;
    shard.subject = this.subject;
    shard.failed(this.#generation, error, this.timeoutMs, answers);
    this.fail(error);
  }

  /** Called once, where no answer came that could be read. */
  abstract fail(error: unknown): void;
}

/** One call for several waiting requests, each with its own timeout. */
export interface SharedCall<Answer> {
  /** The different timeouts. After the longest one the call is abandoned. */
  readonly timeouts: readonly number[];
  perform(call: StoreCall): Promise<Answer>;
  answer(answer: Answer, sent: Sent): void;
  /**
   * Fails those that wait no longer than `timeoutMs`. The others may still be answered.
   *
   * @param answers - The store's promise.
   */
  fail(error: unknown, timeoutMs: number, answers: Promise<unknown>): void;
  /** Releases all waiting requests after the longest timeout, because the store may hold the call for long. */
  release(): void;
}

/**
 * Sends a shared call.
 *
 * @param left - Called when the store has answered or failed, however late.
 */
export function sendTogether<Answer>(shared: SharedCall<Answer>, left: () => void): void {
  const sentMs = performance.now();
  const sentDateMs = Date.now();
  const { timeouts } = shared;
  const longestMs = Math.max(...timeouts);
  const call: StoreCall = { abandoned: false, sentMs, endMs: sentMs + longestMs };
  const answered = shared.perform(call);
  const deadline = new Deadline(longestMs, call, (error) => {
    shared.fail(error, longestMs, answered);
    shared.release();
  });
  answered.then(
    (answer) => {
      left();
      if (deadline.met()) shared.answer(answer, { sentMs, sentDateMs, receivedMs: performance.now() });
    },
    (error: unknown) => {
      left();
      if (deadline.met()) shared.fail(error, longestMs, answered);
    },
  );
  for (const timeoutMs of timeouts) {
    if (timeoutMs === longestMs) continue;
    withinDeadline(answered, timeoutMs, { abandoned: false, connecting: call.connecting }).catch((error: unknown) => {
      shared.fail(error, timeoutMs, answered);
    });
  }
}

/** Adds a timeout, once. */
export function addTimeout(timeouts: number[], timeoutMs: number): void {
  if (!timeouts.includes(timeoutMs)) timeouts.push(timeoutMs);
}
