import { startTimer, stopTimer } from '../../platform.ts';

/** The clocks and timers of a process. */
export interface LocalTime {
  /** Milliseconds that never go back, and stand still while a virtual machine is suspended: `performance.now()`. */
  monotonicMs(): number;
  /** Milliseconds since 1970, as far as the system knows: `Date.now()`. */
  dateMs(): number;
  /** Calls back after this time. Returns what cancels that. */
  after(ms: number, call: () => void): () => void;
}

export const localTime: LocalTime = {
  monotonicMs: () => performance.now(),
  dateMs: () => Date.now(),
  after: (ms, call) => {
    const timer = startTimer(ms, call);
    return () => {
      stopTimer(timer);
    };
  },
};

/** When a request was sent. */
export interface AskedAt {
  /** By `performance.now()`. */
  readonly askedAtMs: number;
  /** By `Date.now()`, because `performance.now()` stops while a virtual machine is suspended. */
  readonly askedAtDateMs: number;
}

export function readTime(time: LocalTime): AskedAt {
  return { askedAtMs: time.monotonicMs(), askedAtDateMs: time.dateMs() };
}

/** How long ago a request was sent, by the clock that has advanced more. */
export function passedSince({ askedAtMs, askedAtDateMs }: AskedAt, time: LocalTime): number {
  return Math.max(time.monotonicMs() - askedAtMs, time.dateMs() - askedAtDateMs);
}
