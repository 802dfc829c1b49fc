import { StoreError } from '../../errors.ts';
import { readTime, type AskedAt, type LocalTime } from './membership-clock.ts';

/** How often a registry is asked. */
export interface Pace {
  /** From the start of one request to the start of the next. */
  readonly everyMs: number;
  /** How long an answer is valid, from when its request was sent. */
  readonly ttlMs: number;
  /** The longest pause while there is no valid answer. Pauses double up to this. */
  readonly maxPauseMs: number;
}

/** Pauses vary by this fraction, so that instances that started together do not ask together. */
const JITTER = 0.1;

/**
 * Asks again and again, one request at a time. A request that takes longer than half of `ttlMs` is abandoned, so that
 * another one can be answered in time.
 *
 * @param ask - Its signal is aborted when the answer would be too late, or is not wanted any more.
 * @param answered - Receives each answer that is in time. If it throws, that counts as a failure.
 * @returns Ends that.
 */
export function askAgain<Answer>(
  time: LocalTime,
  { everyMs, ttlMs, maxPauseMs }: Pace,
  ask: (signal: AbortSignal) => Answer | Promise<Answer>,
  answered: (answer: Answer, askedAt: AskedAt) => void,
  failed: (error: unknown) => void,
): () => void {
  let answeredAtMs = time.monotonicMs();
  let pauseMs = everyMs;
  let hasEnded = false;
  let cancel = (): void => undefined;

  const poll = async (): Promise<void> => {
    const askedAt = readTime(time);
    const asking = new AbortController();
    const late = new Promise<never>((_, reject) => {
      asking.signal.addEventListener('abort', () => {
        reject(asking.signal.reason as Error);
      });
    });
    const stopTimer = time.after(ttlMs / 2, () => {
      const message = `the registry did not answer within ${String(ttlMs / 2)} ms`;
      asking.abort(new StoreError('SLUICE_STORE_TIMEOUT', message));
    });
    cancel = () => {
      stopTimer();
      asking.abort(new Error('the membership has ended'));
    };
    try {
      const answer = await Promise.race([late, ask(asking.signal)]);
      if (hasEnded) return;
      answered(answer, askedAt);
      answeredAtMs = askedAt.askedAtMs;
    } catch (error) {
      if (hasEnded) return;
      failed(error);
    }
    stopTimer();
    const nowMs = time.monotonicMs();
    pauseMs = nowMs - answeredAtMs > ttlMs ? Math.min(2 * pauseMs, Math.max(everyMs, maxPauseMs)) : everyMs;
    const variedMs = pauseMs * (1 + JITTER * (2 * Math.random() - 1));
    cancel = time.after(Math.max(variedMs - (nowMs - askedAt.askedAtMs), 1), () => void poll());
  };
  void poll();
  return () => {
    hasEnded = true;
    cancel();
  };
}
