import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases, seeded } from '@sluice/testkit';
import { countOf, DeniedKeys, type DeniedKey } from '../src/denied-keys.ts';

const HOUR_MS = 3_600_000;

function deny(denied: DeniedKeys, subject: string, atMs = 0, isBlocked = false): void {
  const denial = { atMs, count: 1, used: 1, limit: 1, windowMs: 1_000, isBlocked };
  denied.add(subject, denial, () => ({ subject, denials: [] as object[] }) as DeniedKey);
}

/** A stream in which the first keys are much more frequent than the last. */
function stream(seed: number, length: number, keys: number): readonly string[] {
  const { integer } = seeded(seed);
  return Array.from({ length }, () => `key-${String(integer(0, integer(0, integer(0, keys))))}`);
}

function countAll(all: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of all) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

describe('the keys that are denied most', () => {
  it('law: no count is above the true one, it is exact up to two thousand keys, and memory is bounded', () => {
    const shape = fc.record({
      seed: fc.integer(),
      keys: fc.integer({ min: 1, max: 20_000 }),
      length: fc.integer({ min: 100, max: 12_000 }),
    });
    fc.assert(
      fc.property(shape, ({ seed, keys, length }) => {
        const all = stream(seed, length, keys);
        const denied = new DeniedKeys();
        for (const key of all) deny(denied, key);

        const truly = countAll(all);
        const kept = denied.rank(Infinity);
        const isExact = truly.size <= 2_000;
        const isWrong = (key: DeniedKey): boolean => {
          const [count, real] = [countOf(key), truly.get(key.subject) ?? 0];
          return isExact ? count !== real : count > real;
        };
        expect(kept.filter(isWrong)).toEqual([]);
        expect(kept.length).toBeLessThanOrEqual(2_000);
      }),
      { numRuns: cases(200) },
    );
  });

  it('are those of the last hour', () => {
    const denied = new DeniedKeys();
    deny(denied, 'early', 1);
    for (const atMs of [2, HOUR_MS]) deny(denied, 'both', atMs);
    denied.expire(HOUR_MS + 2);

    expect(denied.rank(9).map((key) => [key.subject, countOf(key)])).toEqual([['both', 1]]);
  });

  it('were denied by their numbers until a block denied them, also within a minute', () => {
    const denied = new DeniedKeys();
    for (const [atMs, isBlocked] of [[1_000], [2_000], [3_000, true], [61_000, true]] as const) {
      deny(denied, 'ann', atMs, isBlocked);
    }

    expect(denied.find('ann')[0]?.denials).toMatchObject([
      { atMs: 1_000, count: 2, isBlocked: false },
      { atMs: 3_000, count: 1, isBlocked: true },
      { atMs: 61_000, count: 1, isBlocked: true },
    ]);
  });
});
