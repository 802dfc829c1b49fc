import { describe, expect, it } from '@jest/globals';
import { mergeDenied, type PageRecord, type SharedKey } from '@sluice/page/spi';

const recordOf = (pid: number, keys: readonly SharedKey[], beyond = 0): PageRecord => ({
  process: { pid, host: 'web', sinceMs: 0 },
  ...{ isHashed: false, sinceMs: 0, oneIn: 1, beyond, keys },
});
const counted = (key: string, count: number, atMost = count): SharedKey => ({
  ...{ id: `${key} ${String(count)}`, limiter: 'api', policy: 'api', key, count, atLeast: count, atMost },
});
const sums = (records: readonly PageRecord[]): readonly unknown[] =>
  mergeDenied(records).map(({ key, count, atLeast, atMost }) => [key, count, atLeast, atMost]);

describe('records of several pages', () => {
  it('count once where they are of one process: that which has counted more', () => {
    const [young, old] = [recordOf(1, [counted('ann', 2)], 1), recordOf(1, [counted('ann', 5), counted('bob', 1)], 2)];
    const other = recordOf(2, [counted('ann', 3)]);

    const expected = [
      ['ann', 8, 8, 8],
      ['bob', 1, 1, 1],
    ];
    expect(sums([young, old, other])).toEqual(expected);
    expect(sums([old, other, young])).toEqual(expected);
  });

  it('of one number on two hosts are of two processes', () => {
    const one = recordOf(1, [counted('ann', 2)]);

    expect(sums([one, { ...one, process: { ...one.process, host: 'api' } }])).toEqual([['ann', 4, 4, 4]]);
  });

  it('may hold two entries of a key, as limits of two kinds do: what others may have denied counts once', () => {
    const both = recordOf(1, [counted('ann', 7), counted('ann', 4, 5)], 3);

    expect(sums([both])).toEqual([['ann', 11, 11, 12]]);
    expect(sums([both, recordOf(2, [counted('bob', 9)], 2)])).toEqual([
      ['ann', 11, 11, 14],
      ['bob', 9, 9, 12],
    ]);
  });
});
