import { describe, expect, it } from '@jest/globals';
import { fixedWindow } from '@sluice/core';
import { byHeader, byIp, byUser, joinParts } from '@sluice/core/http';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { sending } from '../plain-framework.ts';

const policy = fixedWindow({ limit: 1, window: '1m' });

const part = fc.oneof(
  fc.string({ unit: fc.constantFrom(...Array.from('|%:/7C25a\0{}#')), minLength: 1, maxLength: 6 }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
  fc.constantFrom('\u00e9', 'e\u0301', '\ud800', '\udfff', '%7C', '%257C', '#missing', '*'),
);

describe('a key of several parts', () => {
  it('is another one for every other list of parts', () => {
    const tuples = fc.array(part, { minLength: 1, maxLength: 4 });
    // The same characters with the borders elsewhere: what careless joining confuses.
    const moved = fc.tuple(tuples, fc.nat(8)).map(([parts, shift]): [string[], string[]] => {
      const text = parts.join('|');
      return [parts, [text.slice(0, shift), text.slice(shift)].filter((piece) => piece !== '')];
    });
    fc.assert(
      fc.property(fc.oneof(fc.tuple(tuples, tuples), moved), ([one, other]) => {
        const isSame = one.length === other.length && one.every((text, i) => text === other[i]);
        expect(joinParts(one) === joinParts(other)).toBe(isSame);
      }),
      { numRuns: cases(1_000), seed: testSeed(42) },
    );
  });

  it.each([[{}], [true], [['a']], [Symbol('s')], [10n], [NaN], [Infinity]])(
    'cannot have %p as a part',
    async (value) => {
      for (const key of [() => value, [byIp(), () => value], async () => Promise.resolve(value)]) {
        await expect(sending({ policy, key })()).rejects.toMatchObject({
          name: 'TypeError',
          code: 'SLUICE_KEY_INVALID',
        });
      }
    },
  );

  it('takes any thenable for a promise', async () => {
    const late = {
      then(resolve: (value: string) => void) {
        resolve('late');
      },
    };

    expect((await sending({ policy, key: [() => late, byIp()] })()).info?.key).toBe('late|192.0.2.1');
  });
});

describe('the functions that make parts of keys', () => {
  it.each<[string, () => unknown, string]>([
    ['byIp(128)', () => byIp(128 as never), 'byIp takes an object with ipv6Prefix, got 128'],
    ['byIp({ ipv6Prefix: 16 })', () => byIp({ ipv6Prefix: 16 }), 'a whole number of bits from 32 to 128, got 16'],
    ['byIp({ ipv6prefix })', () => byIp({ ipv6prefix: 56 } as never), '(got 56); did you mean "ipv6Prefix"?'],
    [
      'byIp({ prefix })',
      () => byIp({ prefix: 56 } as never),
      'byIp has no option "prefix" (got 56); known: ipv6Prefix',
    ],
    ['byUser(text)', () => byUser('id' as never), 'got "id"; write byUser((request) => request.user.id)'],
    ['byHeader(two words)', () => byHeader('X Y'), 'byHeader takes the name of a header field'],
    ['byHeader()', () => byHeader(undefined as never), "such as 'x-api-key', got undefined"],
  ])('reject what they cannot use: %s', (_what, make, message) => {
    expect(make).toThrow(message);
  });
});
