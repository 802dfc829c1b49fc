import { detached } from './detached.ts';

/** Returns the time in milliseconds. `Date` and `performance` are clocks; the reader floors fractions. */
export interface Clock {
  now(): number;
}

/** Longer timers overflow to 1 ms. */
export const LONGEST_TIMER_MS: number = 2 ** 31 - 1;

/** Read once: it is a constant, and reading it costs as much as a kernel. */
const startMs = performance.timeOrigin;

/** See {@link systemClock}. */
export const systemNow = (): number => startMs + performance.now();

/**
 * The clock of the memory store: milliseconds since 1970, read from the monotonic clock, so that a step of the system's
 * clock (NTP, an administrator) neither opens nor closes a window.
 */
export const systemClock: Clock = { now: systemNow };

/** Where instants of this process come from. */
export interface LocalClocks {
  /** Milliseconds that never go back, and stand still while a virtual machine is suspended: `performance.now()`. */
  monotonicMs(): number;
  /** Milliseconds since 1970, as far as the system knows: `Date.now()`. */
  dateMs(): number;
}

export const localClocks: LocalClocks = {
  monotonicMs: () => performance.now(),
  dateMs: () => Date.now(),
};

/** How much faster or slower than the clock of a store that of a process may run: a thousandth is 86 s a day. */
export const DRIFT: number = 1 / 1000;

/** The clocks of a process, and its timers, which do not keep it alive. */
export interface LocalTime extends LocalClocks {
  /** @returns What ends it. */
  after(ms: number, act: () => void): () => void;
}

export const localTime: LocalTime = {
  ...localClocks,
  after: (ms, act) => {
    const timer = detached(() => setTimeout(act, ms).unref());
    return () => {
      clearTimeout(timer);
    };
  },
};
