import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases, seeded } from '@sluice/testkit';
import { TopKeys } from '../src/top-keys.ts';

/** A stream in which the first keys are much more frequent than the last. */
function stream(seed: number, length: number, keys: number): readonly string[] {
  const { integer } = seeded(seed);
  return Array.from({ length }, () => `key-${String(integer(0, integer(0, integer(0, keys))))}`);
}

function countsOf(all: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of all) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

describe('the keys that are counted most', () => {
  it('law: no count is above the true one, and memory is bounded, over two periods', () => {
    const shape = fc.record({
      seed: fc.integer(),
      keys: fc.integer({ min: 1, max: 20_000 }),
      length: fc.integer({ min: 100, max: 12_000 }),
      turnAt: fc.integer({ min: 0, max: 12_000 }),
    });
    fc.assert(
      fc.property(shape, ({ seed, keys, length, turnAt }) => {
        const all = stream(seed, length, keys);
        const top = new TopKeys<string>(0);
        for (const [i, key] of all.entries()) {
          if (i === turnAt) top.turn(i);
          top.add(key, () => key);
        }

        const truly = countsOf(all);
        expect(top.ranked().filter(({ item, count }) => count > (truly.get(item) ?? 0))).toEqual([]);
        expect(top.items().size).toBeLessThanOrEqual(4_000);
      }),
      { numRuns: cases(200) },
    );
  });

  it('are exact up to two thousand keys, and those of all but the last three periods are forgotten', () => {
    const top = new TopKeys<string>(0);
    const all = stream(1, 5_000, 1_900);
    for (const key of all) top.add(key, () => key);
    const [first] = top.ranked();
    for (const at of [1, 2, 3]) top.turn(at);

    expect(first?.count).toBe(Math.max(...countsOf(all).values()));
    expect([top.ranked(), top.sinceMs]).toEqual([[], 1]);
  });
});
