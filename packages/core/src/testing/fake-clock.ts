import type { Clock } from '../platform.ts';

/** A clock that moves only when a test moves it: for `memoryStore({ clock })`. */
export interface FakeClock extends Clock {
  /** Milliseconds since 1970. May be set, also to an earlier instant, as the clock of a machine may be. */
  atMs: number;
  /** Moves it on by `ms` milliseconds, or back. */
  advance(ms: number): void;
}

/**
 * Makes a clock. Windows, refills, blocks and the expiry of slots follow it. Timers do not: `wait`, `run`, pacing and
 * `timeoutMs` wait in real time.
 *
 * @param atMs - Where it starts, in milliseconds since 1970. Default: a fixed instant in November 2026, so that no test
 * depends on the day on which it runs.
 */
export function fakeClock(atMs = 1_795_262_400_250): FakeClock {
  const clock: FakeClock = {
    atMs,
    now: () => clock.atMs,
    advance: (ms) => {
      clock.atMs += ms;
    },
  };
  return clock;
}
