import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  createLimiter,
  fixedWindow,
  memoryStore,
  tokenBucket,
  type Limiter,
  type LimiterOptions,
  type ThresholdEvent,
} from '@sluice/core';
import { cases, until, useClosing } from '@sluice/testkit';
import { useWarnings } from '../use-warnings.ts';

const clock = { atMs: 1_000_000, now: () => clock.atMs };
const told: ThresholdEvent[] = [];
const closeLater = useClosing();
const warnings = useWarnings();
type Options = Partial<LimiterOptions>;

function limiterWith(at: readonly number[], more: Options = {}): Limiter {
  const limiter: Limiter = createLimiter({
    policy: fixedWindow({ limit: 10, window: '1m' }),
    store: memoryStore({ clock }),
    onThreshold: { at, call: (event: ThresholdEvent) => told.push(event) },
    ...more,
  } as LimiterOptions) as Limiter;
  return closeLater(limiter);
}

beforeEach(() => {
  told.length = 0;
});

describe('onThreshold', () => {
  it('calls at the unit that reaches a share, although 0.55 * 100 is a bit more than 55', async () => {
    const limiter = limiterWith([0.55], { policy: fixedWindow({ limit: 100, window: '1m' }) });

    for (let i = 0; i < 60; i++) await limiter.consume('ann');

    expect(told.map(({ used }) => used)).toEqual([55]);
  });

  it('calls for policies of one name that belong to several limits', async () => {
    const burst = [
      fixedWindow({ name: 'burst', limit: 2, window: '1s' }),
      fixedWindow({ name: 'day', limit: 9, window: '1d' }),
    ];
    const limits = [
      { name: 'ip', policy: burst },
      { name: 'user', policy: burst },
    ];
    const limiter = createLimiter({
      limits: limits as never,
      onThreshold: { at: [0.5], call: (event: ThresholdEvent) => told.push(event) },
    });
    closeLater(limiter);

    await limiter.consume({ ip: 'ann', user: 'ann' });

    expect(told.map(({ policy }) => policy)).toEqual(['burst', 'burst']);
  });

  it('calls no second time while a bucket is kept at a level', async () => {
    const limiter = limiterWith([0.5], { policy: tokenBucket({ capacity: 10, refill: 10, every: '1m' }) });
    for (let i = 0; i < 6; i++) await limiter.consume('ann');

    for (let i = 0; i < 8; i++) {
      clock.atMs += 6_000;
      await limiter.consume('ann');
    }

    expect(told).toHaveLength(1);
  });

  it('tells what was reached, and the key as it was given, whatever its length; not for a peek or another limiter', async () => {
    const key = `#${'k'.repeat(1000)}`;
    const store = memoryStore({ clock });
    const limiter = limiterWith([0.5], { name: 'api', store });
    await limiter.peek(key, 9);
    await createLimiter({ name: 'b', policy: fixedWindow({ limit: 1, window: '1m' }), store }).consume(key);

    await limiter.consume(key, 9);

    expect(told).toEqual([
      {
        ...{ limiter: 'api', policy: 'api', key, level: 0.5, used: 9, limit: 10 },
        ...{ resetAfterMs: expect.any(Number), atMs: clock.atMs },
      },
    ]);
  });

  it('warns of the first error, and the decision stands', async () => {
    const limiter = limiterWith([0.5], {
      name: 'failing',
      onThreshold: { at: [0.1, 0.5], call: () => Promise.reject(new Error('mail is down')) },
    });

    const { allowed } = await limiter.consume('ann', 5);

    expect(allowed).toBe(true);
    await until('it warned', () => warnings.length > 0);
    expect(warnings).toEqual([expect.stringMatching(/^SLUICE_THRESHOLD_FAILED: .*mail is down/)]);
  });

  it('law: in each fixed window the function is called once for each level that a key reaches, and for no other', async () => {
    const step = fc.record({
      key: fc.constantFrom('a', 'b', 'c'),
      cost: fc.integer({ min: 1, max: 7 }),
      laterMs: fc.constantFrom(0, 100, 400),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        told.length = 0;
        clock.atMs = Math.ceil(clock.atMs / 1000) * 1000 + 60_000;
        const limiter = limiterWith([0.3, 0.7, 1], {
          policy: fixedWindow({ limit: 10, window: 1000, align: 'clock' }),
        });
        const reached = new Map<string, number>();
        for (const { key, cost, laterMs } of steps) {
          clock.atMs += laterMs;
          const { used } = await limiter.consume(key, cost);
          const window = `${key} ${String(Math.floor(clock.atMs / 1000))}`;
          reached.set(window, Math.max(reached.get(window) ?? 0, used));
        }
        const expected = [...reached].flatMap(([window, used]) =>
          [0.3, 0.7, 1].filter((level) => used >= 10 * level).map((level) => `${window} ${String(level)}`),
        );
        const found = told.map(({ key, atMs, level }) => `${key} ${String(Math.floor(atMs / 1000))} ${String(level)}`);
        await limiter.close();
        expect(found.toSorted()).toEqual(expected.toSorted());
      }),
      { numRuns: cases(200) },
    );
  });
});
