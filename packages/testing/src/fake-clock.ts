import type { Clock } from '@sluice/core';

/** A clock that moves only when a test moves it: for `memoryStore({ clock })` and {@link redisStoreWithClock}. */
export interface FakeClock extends Clock {
  /** Milliseconds since 1970. May be set, also to an earlier instant, as the clock of a machine may be. */
  atMs: number;
  /** Moves it by so many milliseconds. */
  advance(ms: number): void;
}

/**
 * Makes a clock. It drives what is decided by the time: windows, refills, blocks, expiry of slots. It does not drive timers:
 * `wait`, `run`, pacing and `timeoutMs` wait in real time.
 *
 * @param atMs - Where it starts, in milliseconds since 1970. Default: a fixed instant in November 2026, so that no test
 * depends on the day on which it runs.
 */
export function fakeClock(atMs = 1_795_262_400_250): FakeClock {
  return {
    atMs,
    now() {
      return this.atMs;
    },
    advance(ms) {
      this.atMs += ms;
    },
  };
}
