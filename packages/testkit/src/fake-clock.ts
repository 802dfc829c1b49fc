import type { Clock } from '@sluice/core';

/** A clock that moves only when a test moves it. */
export interface FakeClock extends Clock {
  /** Milliseconds since 1970. May go back. */
  atMs: number;
  advance(ms: number): void;
}

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
