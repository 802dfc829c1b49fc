import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MAX_COUNT, MAX_PERIOD, scaleUp } from '../../src/program/numbers.ts';

const period = fc.oneof(fc.integer({ min: 1, max: 10_000 }), fc.integer({ min: 1, max: MAX_PERIOD }));
const count = fc.oneof(fc.integer({ min: 0, max: 100_000 }), fc.integer({ min: 0, max: MAX_COUNT }));

describe('a count in other parts', () => {
  it('is the exact ratio, rounded up to a part, and at most 2^52', () => {
    fc.assert(
      fc.property(count, period, period, (units, to, from) => {
        const exact = (BigInt(units) * BigInt(to) + BigInt(from) - 1n) / BigInt(from);

        expect(scaleUp(units, to, from)).toBe(exact < BigInt(MAX_COUNT) ? Number(exact) : MAX_COUNT);
      }),
      { numRuns: 2_000 },
    );
  });
});
