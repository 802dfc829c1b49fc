import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases, seeded } from '@sluice/testkit';
import { mergeDenied, type PageRecord } from '@sluice/page/spi';
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

/** What a process shares of its counts. */
function recordOf(top: TopKeys<string>, pid: number): PageRecord {
  const all = top.ranked();
  const keys = all.slice(0, 25).map(({ item: key, count, atLeast }) => {
    return { limiter: 'api', limit: 'api', policy: 'api', key, count, atLeast, denials: [] };
  });
  const beyond = all.slice(25).reduce((max, { count }) => Math.max(max, count), top.missed);
  return { pid, host: '', sinceMs: 0, deniedByMinute: [], beyond, keys, lost: [] };
}

describe('the keys that are counted most', () => {
  it('law: the true counts of several processes are within the bounds, over two periods', () => {
    const shape = fc.record({
      seed: fc.integer(),
      keys: fc.integer({ min: 1, max: 20_000 }),
      length: fc.integer({ min: 100, max: 12_000 }),
      turnAt: fc.integer({ min: 0, max: 12_000 }),
      processes: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(shape, ({ seed, keys, length, turnAt, processes }) => {
        const all = stream(seed, length, keys);
        const tops = Array.from({ length: processes }, () => new TopKeys<string>(0));
        for (const [i, key] of all.entries()) {
          if (i === turnAt) for (const top of tops) top.turn(i);
          tops[(i * 7) % processes]?.add(key, () => key);
        }

        const truly = countsOf(all);
        const isWrong = ({ count, atLeast }: { count: number; atLeast: number }, key: string): boolean =>
          atLeast > (truly.get(key) ?? 0) || count < (truly.get(key) ?? 0);
        const merged = mergeDenied(tops.map(recordOf));
        expect(merged.filter((shared) => isWrong(shared, shared.key))).toEqual([]);
        const [only] = tops as [TopKeys<string>];
        if (processes === 1) expect(only.ranked().filter((one) => isWrong(one, one.item))).toEqual([]);
        for (const top of tops) expect(top.items().size).toBeLessThanOrEqual(4_000);
      }),
      { numRuns: cases(200) },
    );
  });

  it('are exact up to two thousand keys, and those of all but the last three periods are forgotten', () => {
    const top = new TopKeys<string>(0);
    const all = stream(1, 5_000, 1_900);
    for (const key of all) top.add(key, () => key);
    const [first] = top.ranked();
    const truly = Math.max(...countsOf(all).values());
    for (const at of [1, 2, 3]) top.turn(at);

    expect([first?.count, first?.atLeast]).toEqual([truly, truly]);
    expect([top.ranked(), top.sinceMs]).toEqual([[], 1]);
  });
});
