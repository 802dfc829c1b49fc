/** Tells the time in milliseconds. `Date` and `performance` are clocks; fractions are floored by whoever reads it. */
export interface Clock {
  now(): number;
}

/** Read once: it is a constant, and reading it costs as much as a kernel. */
const startMs = performance.timeOrigin;

/**
 * The clock of the memory store: milliseconds since 1970, read from the monotonic clock, so that a step of the system's
 * clock (NTP, an administrator) neither opens nor closes a window.
 */
export const systemClock: Clock = {
  now: () => startMs + performance.now(),
};
