import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { slidingCounter, slidingWindow } from '@sluice/old-core';
import { algorithmOf } from '@sluice/old-core/spi';
import { testSeed } from '@sluice/testkit';
import { integersOf, toInteger } from '../../src/algorithms/instant-and-field.ts';

const seed = testSeed(20_261_128);

describe('the numbers of a state', () => {
  it('are those between its colons, or none where a part is not a safe integer', () => {
    const part = fc.oneof(
      fc.nat().map(String),
      fc.constantFrom('', '-1', '0', '007', ' 1', '1.5', 'a', '9007199254740991', '9007199254740992'),
    );
    fc.assert(
      fc.property(fc.array(part, { maxLength: 8 }), (parts) => {
        const text = parts.join(':');
        const numbers = text.split(':').map(toInteger);

        expect(integersOf(text)).toEqual(numbers.includes(undefined) ? undefined : numbers);
      }),
      { numRuns: 1000, seed },
    );
  });

  it.each([
    [slidingWindow({ limit: 5, window: '1m' }), '1:2:3:4:5', ['', '1:2:3:4', '1:0:3:4:5', '1:2:3:4:5:', '1:2::4:5']],
    [slidingCounter({ limit: 5, window: '1m' }), '1:2:3:4', ['', '1:2:3', '1:0:3:4', '1:2:3:4:', '1:2:3:4:5']],
  ])('are as many as the algorithm writes, with a window above 0', (policy, written, others) => {
    const { encode, decode } = algorithmOf(policy);

    expect(encode(decode(written))).toBe(written);
    for (const text of others) expect(decode(text)).toBeUndefined();
  });
});
