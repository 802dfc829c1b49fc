import type { Clock } from '../platform.ts';

/** A clock that only the test moves, for `memoryStore({ clock })`. */
export interface FakeClock extends Clock {
  /** Milliseconds since 1970. Can be set, even to an earlier time, like the clock of a machine. */
  atMs: number;
  /** Moves the clock by `ms` milliseconds, which may be negative. */
  advance(ms: number): void;
}

/**
 * Creates a clock that windows, refills, blocks and the expiry of slots follow. Timers do not: `wait`, `run`, pacing
 * and `timeoutMs` wait in real time.
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
