import { describe, expect, it } from '@jest/globals';
import { Slice } from '../../../../src/stores/redis/lease/slice.ts';
import { cases, seeded, testSeed } from '@sluice/testkit';

const START_MS = 1_795_262_400_000;
const SHOWN = { name: 'hot', limit: 100, windowMs: 1000, untilMs: START_MS + 1000, nextAtMs: START_MS + 1000 };
const MOST_AGE_MS = 500;

/**
 * A slice that a store gave at `START_MS`, by its clock, to a process that asked `askedMs` and sent `sentMs` before,
 * and whose clocks run at `rate`. What its clocks showed at true times, in ms since then.
 */
function scene(endMs: number, rate: number, sentMs: number, askedMs: number) {
  const clocks = {
    monotonicMs: (trueMs: number) => 50_000 + trueMs * rate,
    dateMs: (trueMs: number) => Math.floor(START_MS + 3_600_000 + trueMs * rate),
  };
  const asked = { monotonicMs: clocks.monotonicMs(-askedMs), dateMs: clocks.dateMs(-askedMs) };
  const grant = { units: 10, left: 0, states: [], endMs, shown: [SHOWN] };
  const run = { atMs: START_MS, sentMs: clocks.monotonicMs(-sentMs), key: { blockedUntilMs: 0, states: [] } };
  return { ...clocks, slice: new Slice(grant, run, asked, MOST_AGE_MS) };
}

describe('a slice', () => {
  it('ends by either clock before its window does, and before it is too old, whatever the drift and the way there', () => {
    const random = seeded(testSeed(1));
    const spent: unknown[] = [];

    for (let i = 0; i < cases(10_000); i++) {
      const lifeMs = random.pick([random.integer(1, 700), random.integer(1, 60)]);
      // The store floors its instant: true time is up to a millisecond ahead of it.
      const aheadMs = random.integer(0, 999) / 1000;
      const rate = 1 + random.integer(-999, 999) / 1e6;
      const sentMs = random.integer(0, 3000) / 1000;
      const askedMs = sentMs + random.integer(0, 3000) / 1000;
      const { slice, monotonicMs, dateMs } = scene(START_MS + lifeMs, rate, sentMs, askedMs);
      const overMs = Math.min(lifeMs, MOST_AGE_MS) - aheadMs + random.pick([0, random.integer(0, 1000) / 100]);

      // A machine that was suspended all the while, and one whose date was set back to when it asked.
      const suspended = slice.isLive(monotonicMs(0), dateMs(overMs));
      const setBack = slice.isLive(monotonicMs(overMs), slice.sinceDateMs);

      if (suspended || setBack) spent.push({ lifeMs, rate, overMs, suspended, setBack });
    }

    expect(spent.slice(0, 3)).toEqual([]);
  });

  it('may be spent nearly all that time', () => {
    const { slice, monotonicMs, dateMs } = scene(START_MS + 400, 1, 1, 1);

    expect(slice.isLive(monotonicMs(0), dateMs(0))).toBe(true);
    expect(slice.isLive(monotonicMs(394), dateMs(394))).toBe(true);
  });

  it('is not spent by a process whose date is before the one it was asked at', () => {
    const { slice, monotonicMs, dateMs } = scene(START_MS + 400, 1, 1, 1);

    expect(slice.isLive(monotonicMs(10), dateMs(-5))).toBe(false);
  });
});
