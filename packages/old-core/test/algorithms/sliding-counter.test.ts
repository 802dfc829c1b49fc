import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { slidingCounter, type SlidingCounterPolicy } from '@sluice/old-core';
import { algorithmOf } from '@sluice/old-core/spi';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';

const seed = testSeed(20_261_123);
const policies = fc
  .record({ limit: fc.integer({ min: 1, max: 60 }), window: fc.integer({ min: 1, max: 300 }) })
  .map((options) => slidingCounter(options));

interface Admission {
  readonly atMs: number;
  readonly units: number;
}

/** What is allowed of requests at random times, most of them greedy, some for as much as there is. */
function admissions(policy: SlidingCounterPolicy, random: Random): Admission[] {
  const { kernel } = algorithmOf(policy);
  const { windowMs } = policy;
  const allowed: Admission[] = [];
  let state: unknown;
  let atMs = 10 * windowMs;
  for (let i = 0; i < 150; i++) {
    const { remaining, nextAfterMs } = kernel(policy, state, 0, atMs).verdict;
    atMs += random.pick([0, 1, nextAfterMs ?? 0, windowMs - 1 - (atMs % windowMs), random.integer(0, windowMs)]);
    const cost = random.pick([1, Math.max(remaining, 1), random.integer(1, policy.limit)]);
    const { state: after, verdict } = kernel(policy, state, cost, atMs);
    state = after;
    if (verdict.allowed) allowed.push({ atMs, units: cost });
  }
  return allowed;
}

const most = (sums: Iterable<number>): number => Math.max(0, ...sums);

describe('a slidingCounter, whatever is asked of it and when', () => {
  it('allows at most its limit in every window on the clock', () => {
    fc.assert(
      fc.property(policies, fc.nat(), (policy, own) => {
        const byWindow = new Map<number, number>();
        for (const { atMs, units } of admissions(policy, seeded(own))) {
          const index = Math.floor(atMs / policy.windowMs);
          byWindow.set(index, (byWindow.get(index) ?? 0) + units);
        }

        expect(most(byWindow.values())).toBeLessThanOrEqual(policy.limit);
      }),
      { numRuns: cases(300), seed },
    );
  });

  it('allows less than twice its limit in any interval of one window', () => {
    fc.assert(
      fc.property(policies, fc.nat(), (policy, own) => {
        const allowed = admissions(policy, seeded(own));

        const sums = allowed.map(({ atMs: fromMs }) =>
          allowed
            .filter(({ atMs }) => atMs >= fromMs && atMs < fromMs + policy.windowMs)
            .reduce((sum, { units }) => sum + units, 0),
        );

        expect(most(sums)).toBeLessThan(2 * policy.limit);
      }),
      { numRuns: cases(300), seed },
    );
  });

  it('can reach twice its limit less one: the bound is no looser than that', () => {
    const { kernel } = algorithmOf(slidingCounter({ limit: 4, window: 1000 }));
    const policy = slidingCounter({ limit: 4, window: 1000 });
    const first = kernel(policy, undefined, 4, 999);

    const second = kernel(policy, first.state, 3, 1998);

    expect([first.verdict.allowed, second.verdict.allowed]).toEqual([true, true]);
  });
});

describe('a slidingCounter whose windows have got another length', () => {
  it('counts what it held at its last instant, so that nothing comes back early', () => {
    const before = slidingCounter({ limit: 10, window: 1000 });
    const after = slidingCounter({ limit: 10, window: 300 });
    const { kernel } = algorithmOf(before);
    const first = kernel(before, undefined, 6, 900);
    const { state } = kernel(before, first.state, 4, 1250);

    expect(kernel(after, state, 1, 1499).verdict).toMatchObject({ allowed: false, retryAfterMs: 31 });
    expect(kernel(after, state, 1, 1530).verdict.allowed).toBe(true);
  });

  it('is not pushed into the future by two processes with windows of different lengths', () => {
    const [hour, minutes] = [
      slidingCounter({ limit: 1_000, window: '1h' }),
      slidingCounter({ limit: 1_000, window: '59m' }),
    ];
    const { kernel } = algorithmOf(hour);
    let state: unknown;

    for (let i = 0; i < 500; i++)
      for (const policy of [hour, minutes]) ({ state } = kernel(policy, state, 1, 5_000_000));

    // A window, and the one in which the units were taken.
    expect(kernel(hour, state, 1, 5_000_000).verdict.retryAfterMs).toBeLessThanOrEqual(2 * 3_600_000);
  });
});

describe('numbers of a slidingCounter that are too large to be weighed exactly', () => {
  it('are denied, and told what would do', () => {
    expect(() => slidingCounter({ limit: 4_000_000, window: '30d' })).toThrow(
      /^limit 4000000 per 2592000000 ms is too large to be weighed exactly; at most 3474999, or a shorter window/,
    );
    expect(slidingCounter({ limit: 3_474_999, window: '30d' }).limit).toBe(3_474_999);
  });
});
