import { describe, expect, it } from '@jest/globals';
import { slidingWindow, type SlidingWindowPolicy } from '@sluice/old-core';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import { slidingWindowAlgorithm } from '../../src/algorithms/sliding-window/index.ts';

const { kernel } = slidingWindowAlgorithm;

/** Windows of a few milliseconds, so that a walk meets every edge of theirs, and of their blocks. */
function smallPolicy(random: Random): SlidingWindowPolicy {
  const precision = random.integer(1, 7);
  return slidingWindow({ limit: random.integer(1, 6), window: precision * random.integer(1, 9), precision });
}

interface Spent {
  readonly atMs: number;
  readonly units: number;
}

/** The most units whose instants lie within less than a window. */
function mostInAnyWindow(spent: readonly Spent[], windowMs: number): number {
  return Math.max(
    0,
    ...spent.map(({ atMs: fromMs }) =>
      spent.reduce((sum, { atMs, units }) => (atMs >= fromMs && atMs < fromMs + windowMs ? sum + units : sum), 0),
    ),
  );
}

describe('a slidingWindow while the clock goes on', () => {
  it('allows no more than the limit in any window, and frees a key that is quiet for one', () => {
    const random = seeded(testSeed(90));

    for (let walk = 0; walk < cases(400); walk++) {
      const policy = smallPolicy(random);
      const { limit, windowMs } = policy;
      const spent: Spent[] = [];
      let state: Parameters<typeof kernel>[1];
      let atMs = 1000;
      let lastMs = -Infinity;
      for (let step = 0; step < 60; step++) {
        atMs += random.pick([0, 0, 1, 1, 2, random.integer(0, windowMs), windowMs - 1, windowMs]);
        const cost = random.integer(1, limit);
        const { state: after, verdict } = kernel(policy, state, cost, atMs);

        const isFree = atMs >= lastMs + windowMs;
        const told = { allowed: isFree || verdict.allowed, remaining: isFree ? limit - cost : verdict.remaining };
        expect(verdict).toMatchObject(told);
        expect(verdict.retryAfterMs).toBeLessThanOrEqual(windowMs);
        expect(verdict.resetAfterMs).toBe(Math.max((verdict.allowed ? atMs : lastMs) + windowMs - atMs, 0));
        if (verdict.allowed) spent.push({ atMs: (lastMs = atMs), units: cost });
        state = after;
      }
      expect(mostInAnyWindow(spent, windowMs)).toBeLessThanOrEqual(limit);
    }
  });
});
