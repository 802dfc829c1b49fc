import { shown } from '../errors.ts';
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
 * @throws TypeError, also of `advance` and of setting `atMs`, for what is no number of milliseconds.
 */
export function fakeClock(atMs = 1_795_262_400_250): FakeClock {
  let nowMs = milliseconds(atMs, 'fakeClock');
  return {
    get atMs() {
      return nowMs;
    },
    set atMs(ms) {
      nowMs = milliseconds(ms, 'atMs');
    },
    now: () => nowMs,
    advance: (ms) => {
      nowMs += milliseconds(ms, 'advance');
    },
  };
}

/** @throws TypeError for what is no number: durations such as `'1m'` would stop the clock of every limiter. */
function milliseconds(given: unknown, taker: string): number {
  if (typeof given === 'number' && Number.isFinite(given)) return given;
  throw new TypeError(`${taker} takes a number of milliseconds, such as 60_000 or Date.now(), got ${shown(given)}`);
}
