import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases, seeded } from '@sluice/testkit';
import { mergeDenied, type PageRecord } from '@sluice/page/spi';
import { SpaceSaving } from '../src/space-saving.ts';
import { TopKeys } from '../src/top-keys.ts';

/** Random numbers from 0 to below 1. */
function fractions(seed: number): () => number {
  const { integer } = seeded(seed);
  return () => integer(0, 2 ** 32 - 1) / 2 ** 32;
}

/** A stream in which the key of rank r is r^-skew as frequent as the first. */
function zipf(seed: number, length: number, keys: number, skew: number): readonly string[] {
  const random = fractions(seed);
  const sums: number[] = [];
  let sum = 0;
  for (let rank = 1; rank <= keys; rank++) sums.push((sum += rank ** -skew));
  return Array.from({ length }, () => {
    const at = random() * sum;
    let [from, to] = [0, keys - 1];
    while (from < to) {
      const middle = (from + to) >> 1;
      if ((sums[middle] as number) < at) from = middle + 1;
      else to = middle;
    }
    return `key-${String(from)}`;
  });
}

function countsOf(stream: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const key of stream) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

/** What a process shares of its counts. */
function recordOf(top: TopKeys<string>, pid: number): PageRecord {
  const keys = top.top(50).map(({ item, count, atLeast, atMost }) => ({
    ...{ id: '', limiter: 'api', policy: 'api', key: item, count, atLeast, atMost },
  }));
  const process = { pid, host: '', sinceMs: 0 };
  return { process, isHashed: false, sinceMs: 0, oneIn: top.oneIn, beyond: top.beyond(50), keys };
}

const streams = fc.record({
  seed: fc.integer(),
  skew: fc.double({ min: 0.3, max: 2, noNaN: true }),
  keys: fc.integer({ min: 1, max: 5_000 }),
});

describe('SpaceSaving', () => {
  it('law: a true count is at most the count, and at least the count without its error', () => {
    fc.assert(
      fc.property(streams, fc.integer({ min: 1, max: 60 }), ({ seed, skew, keys }, capacity) => {
        const stream = zipf(seed, 2000, keys, skew);
        const kept = new SpaceSaving<string>(capacity);
        for (const key of stream) kept.add(key, 1, () => key);

        const truly = countsOf(stream);
        const wrong = kept.entries().filter(({ id, item, count, error }) => {
          const is = truly.get(id) ?? 0;
          return item !== id || is > count || is < count - error;
        });
        expect(wrong).toEqual([]);
        const ids = new Set(kept.entries().map(({ id }) => id));
        expect(ids.size).toBe(Math.min(capacity, truly.size));
        for (const [key, count] of truly) if (!ids.has(key)) expect(count).toBeLessThanOrEqual(kept.missed);
      }),
      { numRuns: cases(100) },
    );
  });
});

describe('TopKeys', () => {
  it('law: true counts are within the shown bounds, in 1000 random Zipf streams', () => {
    const shape = fc.record({
      stream: streams,
      length: fc.integer({ min: 100, max: 6_000 }),
      perSecond: fc.integer({ min: 100, max: 100_000 }),
      turnAt: fc.integer({ min: 0, max: 6_000 }),
    });
    fc.assert(
      fc.property(shape, ({ stream: { seed, skew, keys }, length, perSecond, turnAt }) => {
        const stream = zipf(seed, length, keys, skew);
        const top = new TopKeys<string>(0, 2000, fractions(seed + 1));
        for (const [i, key] of stream.entries()) {
          if (i % perSecond === perSecond - 1) top.tick();
          if (i === turnAt) top.turn(i);
          const weight = top.pick();
          if (weight > 0) top.add(key, weight, () => key);
        }

        const truly = countsOf(stream);
        const wrong = top.top(200).filter(({ id, atLeast, atMost, count }) => {
          const is = truly.get(id) ?? 0;
          return atLeast > is || atMost < is || count > atMost;
        });
        expect(wrong).toEqual([]);
      }),
      { numRuns: cases(2000) },
    );
  });

  it('law: so are those of several processes together, of which each tells its fifty most frequent keys', () => {
    const shape = fc.record({
      stream: streams,
      length: fc.integer({ min: 100, max: 3_000 }),
      perSecond: fc.integer({ min: 100, max: 100_000 }),
      turnAt: fc.integer({ min: 0, max: 3_000 }),
      processes: fc.integer({ min: 1, max: 6 }),
    });
    fc.assert(
      fc.property(shape, ({ stream: { seed, skew, keys }, length, perSecond, turnAt, processes }) => {
        const stream = zipf(seed, length, keys, skew);
        const where = fractions(seed + 2);
        const tops = Array.from({ length: processes }, (_, i) => new TopKeys<string>(0, 50, fractions(seed + i)));
        for (const [i, key] of stream.entries()) {
          const top = tops[Math.floor(where() * processes)] as TopKeys<string>;
          if (i % perSecond === perSecond - 1) for (const one of tops) one.tick();
          if (i === turnAt) for (const one of tops) one.turn(i);
          const weight = top.pick();
          if (weight > 0) top.add(key, weight, () => key);
        }

        const truly = countsOf(stream);
        const merged = mergeDenied(tops.map(recordOf));
        const wrong = merged.filter(({ key, atLeast, atMost, count }) => {
          const is = truly.get(key) ?? 0;
          return atLeast > is || atMost < is || count > atMost;
        });
        expect(wrong).toEqual([]);
        expect(merged.length).toBeGreaterThan(0);
      }),
      { numRuns: cases(2000) },
    );
  });

  it('counts exactly what comes in up to 2000 a second, of up to 1000 keys', () => {
    const top = new TopKeys<string>(0);
    const stream = zipf(1, 1999, 900, 1);
    for (const key of stream) top.add(key, top.pick(), () => key);

    const [first] = top.top(1);

    const truly = countsOf(stream).get('key-0');
    expect(first).toEqual({ id: 'key-0', item: 'key-0', count: truly, atLeast: truly, atMost: truly });
  });

  it('counts a part of a flood, at once, and everything again when it has ended', () => {
    const top = new TopKeys<string>(0);
    const picksOf = (length: number): number => {
      let picks = 0;
      for (let i = 0; i < length; i++) if (top.pick() > 0) picks++;
      top.tick();
      return picks;
    };

    expect(picksOf(50_000)).toBeLessThan(8000);
    expect(picksOf(50_000)).toBeLessThan(2200);
    expect(top.oneIn).toBeGreaterThan(1);
    expect(picksOf(100)).toBeLessThan(10);
    expect(picksOf(1000)).toBeGreaterThan(900);
    expect(top.oneIn).toBe(1);
  });

  it('includes in the bounds the row that has begun, of which nothing is picked yet', () => {
    const top = new TopKeys<string>(0, 2000, () => 0.99);
    for (let i = 0; i < 2001; i++) {
      const weight = top.pick();
      if (weight > 0) top.add('a', weight, () => 'a');
    }

    const [{ count, atMost } = { count: 0, atMost: 0 }] = top.top(1);

    expect([count, atMost >= 2001]).toEqual([2000, true]);
  });

  it('forgets what came before the last two periods', () => {
    const top = new TopKeys<string>(10);
    top.add('a', top.pick(), () => 'a');
    top.turn(20);
    top.add('b', top.pick(), () => 'b');
    expect([top.sinceMs, top.top(9).map(({ id }) => id)]).toEqual([10, ['a', 'b']]);

    top.turn(30);

    expect([top.sinceMs, top.top(9).map(({ id }) => id), top.items()]).toEqual([20, ['b'], ['b']]);
  });
});
