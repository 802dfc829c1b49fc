import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { leakyBucket, type LeakyBucketPolicy } from '@sluice/old-core';
import { algorithmOf } from '@sluice/old-core/spi';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';

const seed = testSeed(20_261_124);
const policies = fc
  .record({
    limit: fc.integer({ min: 1, max: 40 }),
    window: fc.integer({ min: 1, max: 2_000 }),
    maxDelay: fc.integer({ min: 0, max: 1_500 }),
  })
  .map((options) => leakyBucket(options));

interface Admission {
  readonly atMs: number;
  readonly cost: number;
  /** When its first unit starts. */
  readonly startMs: number;
}

/** What is allowed of requests at random times: crowds, single ones, and as much as there is. */
function admissions(policy: LeakyBucketPolicy, random: Random): Admission[] {
  const { kernel } = algorithmOf(policy);
  const allowed: Admission[] = [];
  let state: unknown;
  let atMs = 1_000_000;
  for (let i = 0; i < 150; i++) {
    const { remaining, nextAfterMs } = kernel(policy, state, 0, atMs).verdict;
    atMs += random.pick([0, 0, 0, 1, nextAfterMs ?? 0, random.integer(0, policy.windowMs)]);
    const cost = random.pick([1, 1, 1, 2, Math.max(remaining, 1)]);
    const { state: after, verdict } = kernel(policy, state, cost, atMs);
    state = after;
    if (verdict.allowed) allowed.push({ atMs, cost, startMs: atMs + verdict.delayMs });
  }
  return allowed;
}

describe('requests that a leakyBucket allows', () => {
  it('start first come, first served', () => {
    fc.assert(
      fc.property(policies, fc.nat(), (policy, own) => {
        const starts = admissions(policy, seeded(own)).map(({ startMs }) => startMs);

        expect(starts).toEqual(starts.toSorted((a, b) => a - b));
      }),
      { numRuns: cases(300), seed },
    );
  });

  it('are paced: between two of them lie as many times window / limit as units were taken, but for a millisecond', () => {
    fc.assert(
      fc.property(policies, fc.nat(), (policy, own) => {
        const allowed = admissions(policy, seeded(own));

        const tooClose = allowed.flatMap((first, i) => {
          let units = 0;
          return allowed.slice(i + 1).filter((later, k) => {
            units += allowed[i + k]?.cost ?? 0;
            // In limit-ths of a millisecond, so that nothing is rounded.
            return (later.startMs - first.startMs + 1) * policy.limit <= units * policy.windowMs;
          });
        });

        expect(tooClose).toEqual([]);
      }),
      { numRuns: cases(200), seed },
    );
  });

  it('wait no longer than maxDelay, nor do the last of their units', () => {
    fc.assert(
      fc.property(policies, fc.nat(), (policy, own) => {
        const { limit, windowMs, maxDelayMs } = policy;
        const allowed = admissions(policy, seeded(own));

        // What is told is rounded up to the millisecond.
        const late = allowed.filter(
          ({ atMs, cost, startMs }) => (startMs - atMs - 1) * limit + (cost - 1) * windowMs >= maxDelayMs * limit,
        );

        expect(late).toEqual([]);
        expect(Math.max(0, ...allowed.map(({ atMs, startMs }) => startMs - atMs))).toBeLessThanOrEqual(maxDelayMs);
      }),
      { numRuns: cases(300), seed },
    );
  });

  it('leave no start unused while a request waits', () => {
    const policy = leakyBucket({ limit: 3, window: '1s', maxDelay: '10s' });
    const { kernel } = algorithmOf(policy);
    let state: unknown;
    const starts = Array.from({ length: 30 }, () => {
      const { state: after, verdict } = kernel(policy, state, 1, 5_000);
      state = after;
      return verdict.delayMs;
    });

    expect(starts).toEqual(Array.from({ length: 30 }, (_, i) => Math.ceil((i * 1000) / 3)));
  });
});

describe('maxDelay', () => {
  it.each([0, '0ms', '0s'] as const)('may be none at all: %p', (maxDelay) => {
    const policy = leakyBucket({ limit: 10, window: '1s', maxDelay });
    const { kernel } = algorithmOf(policy);
    const { state, verdict } = kernel(policy, undefined, 1, 0);

    expect(verdict).toMatchObject({ allowed: true, delayMs: 0, limit: 1, remaining: 0 });
    expect(kernel(policy, state, 1, 99).verdict).toMatchObject({ allowed: false, retryAfterMs: 1, delayMs: 0 });
    expect(kernel(policy, state, 1, 100).verdict).toMatchObject({ allowed: true, delayMs: 0 });
  });

  it.each([-1, 0.5, '-1s', undefined])('is denied when it is %p', (maxDelay) => {
    expect(() => leakyBucket({ limit: 10, window: '1s', maxDelay: maxDelay as 0 })).toThrow(/^maxDelay must be a /);
  });

  it('is denied when so long a line could not be counted exactly, and the message says what could', () => {
    const options = { limit: 999_999_999, window: '1d' } as const;

    expect(() => leakyBucket({ ...options, maxDelay: '3650d' })).toThrow(
      /too large to be counted exactly; at most \d+ ms/,
    );

    const [, longest] = /at most (\d+) ms/.exec(messageOf(() => leakyBucket({ ...options, maxDelay: '3650d' }))) ?? [];
    expect(leakyBucket({ ...options, maxDelay: Number(longest) }).maxDelayMs).toBe(Number(longest));
  });
});

function messageOf(run: () => unknown): string {
  try {
    run();
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

describe('a line whose numbers change', () => {
  const before = leakyBucket({ limit: 1, window: '1s', maxDelay: '30s' });
  const { kernel, migrate, used } = algorithmOf(before);
  const { state } = kernel(before, undefined, 20, 0);

  it('keeps those who wait where they are: a shorter maxDelay denies until the line is as short', () => {
    const after = leakyBucket({ limit: 1, window: '1s', maxDelay: '5s' });

    expect(kernel(after, state, 1, 0).verdict).toMatchObject({ allowed: false, remaining: 0, retryAfterMs: 15_000 });
  });

  it('is kept as it is by a managed change that keeps its units, whatever the pace by now', () => {
    const after = leakyBucket({ limit: 10, window: '1s', maxDelay: '30s' });

    const carried = migrate(after, used(before, state, 0), 0, { policy: before, state });

    expect(kernel(after, carried, 1, 0).verdict.delayMs).toBe(20_000);
  });
});

describe('units that are charged afterwards', () => {
  const policy = leakyBucket({ limit: 1, window: '1s', maxDelay: '3s' });
  const { kernel, charge } = algorithmOf(policy);

  it('stand at the end of the line, also beyond maxDelay', () => {
    const { state } = kernel(policy, undefined, 2, 0);

    const after = charge(policy, state, 10, 2_000, 0);

    expect(kernel(policy, after, 1, 0).verdict).toMatchObject({ allowed: false, retryAfterMs: 9_000 });
    expect(kernel(policy, after, 1, 9_000).verdict).toMatchObject({ allowed: true, delayMs: 3_000 });
  });

  it('are as many as can be counted, and no more', () => {
    const after = charge(policy, undefined, Number.MAX_SAFE_INTEGER, 0, 0);

    expect(charge(policy, after, 1_000_000, 0, 0)).toBe(after);
    expect(kernel(policy, after, 1, 0).verdict.retryAfterMs).toBe(Math.floor(2 ** 52 / 1_000) * 1_000 - 3_000);
  });
});
