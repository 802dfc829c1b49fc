import { isFault } from '../../errors.ts';
import { Deadline, withinDeadline } from '../deadline.ts';
import type { Shard } from '../shard.ts';
import type { StoreCall } from '../store.ts';

/** When a call was sent and answered, by `performance.now()`. */
export interface Sent {
  readonly sentMs: number;
  /** The same by `Date.now()`, which goes on while a machine is suspended. */
  readonly sentDateMs: number;
  readonly receivedMs: number;
}

/** One who waits for the answer to a call that others share, and no longer than `timeoutMs`. */
export abstract class Waiting {
  readonly subject: string;
  readonly timeoutMs: number;
  #shard: Shard | undefined;
  #epoch = 0;

  constructor(subject: string, timeoutMs: number) {
    this.subject = subject;
    this.timeoutMs = timeoutMs;
  }

  /** Whether it still waits: it has been neither answered nor failed. */
  get isWaiting(): boolean {
    return this.#shard !== undefined;
  }

  /** @throws StoreError `SLUICE_BREAKER_OPEN`: the part of the store is not to be asked. */
  enter(shard: Shard): void {
    this.#epoch = shard.breaker.enter();
    this.#shard = shard;
  }

  /** The store has answered. Answers whether it still waited. */
  leave(): boolean {
    const shard = this.#shard;
    if (shard === undefined) return false;
    this.#shard = undefined;
    shard.breaker.succeeded(this.#epoch);
    return true;
  }

  /** The store has failed. */
  leaveWith(error: unknown): void {
    const shard = this.#shard;
    if (shard === undefined) return;
    this.#shard = undefined;
    shard.subject = this.subject;
    // What is to be mended passes by no waiting.
    if (isFault(error)) shard.breaker.succeeded(this.#epoch);
    else shard.breaker.failed(this.#epoch, error);
    this.fail(error);
  }

  /** Called once, where no answer came that could be read. */
  abstract fail(error: unknown): void;
}

/** What becomes of those who wait together. */
export interface Outcome<Answer> {
  answer(answer: Answer, sent: Sent): void;
  /** Called for those who wait no longer than `timeoutMs`: the others may be answered yet. */
  fail(error: unknown, timeoutMs: number): void;
  /** Called when the store has left all of them waiting for too long: it may keep the call for long yet, and need not keep them. */
  release(): void;
}

/**
 * Sends a call for several who wait, each no longer than its own time. Answers what the store does.
 *
 * @param timeouts - The times of all of them, each once. When the longest is over the call is abandoned.
 */
export function sendTogether<Answer>(
  send: (call: StoreCall) => Promise<Answer>,
  timeouts: readonly number[],
  outcome: Outcome<Answer>,
): Promise<unknown> {
  const sentMs = performance.now();
  const sentDateMs = Date.now();
  const call: StoreCall = { abandoned: false };
  const answered = send(call);
  const longestMs = Math.max(...timeouts);
  let told: Outcome<Answer> | undefined = outcome;
  const deadline = new Deadline(longestMs, call, (error) => {
    told?.fail(error, longestMs);
    told?.release();
    told = undefined;
  });
  answered.then(
    (answer) => {
      if (deadline.met()) told?.answer(answer, { sentMs, sentDateMs, receivedMs: performance.now() });
    },
    (error: unknown) => {
      if (deadline.met()) told?.fail(error, longestMs);
    },
  );
  for (const timeoutMs of timeouts) {
    if (timeoutMs === longestMs) continue;
    withinDeadline(answered, timeoutMs, { abandoned: false }).catch((error: unknown) => {
      told?.fail(error, timeoutMs);
    });
  }
  return answered;
}

/** Adds a time to others, once. */
export function noteTimeout(timeouts: number[], timeoutMs: number): void {
  if (!timeouts.includes(timeoutMs)) timeouts.push(timeoutMs);
}
