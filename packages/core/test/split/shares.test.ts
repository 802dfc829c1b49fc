import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { KnownEpochs } from '../../src/split/shares/known-epochs.ts';
import { getMemberShare, type Member } from '../../src/split/shares/largest-remainder.ts';

const members = fc
  .uniqueArray(fc.string({ minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 12 })
  .chain((ids) => fc.tuple(...ids.map((id) => fc.tuple(fc.constant(id), fc.integer({ min: 1, max: 1_000_000 })))))
  .map((list): readonly Member[] => list);
const units = fc.oneof(fc.integer({ min: 0, max: 30 }), fc.integer({ min: 1, max: 999_999_999_999_999 }));

it('the shares of all members add up to the units exactly, each less than a unit away from what its weight says', () => {
  fc.assert(
    fc.property(units, members, (whole, all) => {
      const total = all.reduce((sum, [, weight]) => sum + BigInt(weight), 0n);
      let sum = 0n;
      for (const [id, weight] of all) {
        const share = BigInt(getMemberShare(whole, all, id));
        const exactly = BigInt(whole) * BigInt(weight);
        sum += share;

        expect(share * total - exactly).toBeLessThan(total);
        expect(exactly - share * total).toBeLessThan(total);
      }
      expect(sum).toBe(BigInt(whole));
    }),
    { numRuns: cases(100), seed: testSeed(42) },
  );
});

it('who is no member has no share', () => {
  expect(getMemberShare(10, [['a', 1]], 'z')).toBe(0);
});

describe('an instance that has missed epochs', () => {
  it('rounds its share down while they count, because others may round by members that it does not know', () => {
    const epochs = new KnownEpochs('a');
    epochs.beginAt(0);
    epochs.add(0, { a: 1, b: 1, c: 1 }, false);
    const exact = epochs.readShares(10, epochs.list.slice(-1));
    epochs.add(9, { a: 1, b: 1, d: 1 }, true);

    expect([exact, epochs.readShares(10, epochs.list.slice(-2)), epochs.readShares(10, epochs.list.slice(-1))]).toEqual(
      [[4], [3, 3], [4]],
    );
  });
});
