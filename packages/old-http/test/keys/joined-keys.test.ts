import { describe, expect, it } from '@jest/globals';
import { byHeader, byIp, byMethod, byRoute, byUser, type KeyValue } from '@sluice/old-http';
import { fixedWindow } from '@sluice/old-core';
import { cases, expectWarnings, testEnforcer, type TestRequest, testSeed } from '@sluice/testkit';
import fc from 'fast-check';

expectWarnings('SLUICE_KEY_MISSING');

const policy = fixedWindow({ limit: 1, window: '1m' });

/** A limiter whose key has as many parts as the request brings. */
function limiterOfParts(count: number): (parts: readonly string[]) => Promise<string> {
  const key = Array.from({ length: count }, (_, i) => (request: TestRequest) => request.parts?.[i]);
  const enforce = testEnforcer({ policy, key });
  return async (parts) => (await enforce({ parts })).info?.key as string;
}

const awkward = fc.oneof(
  fc.string({
    unit: fc.constantFrom('|', '%', ':', '/', '7', 'C', '2', '5', 'a', '\u0000', '{', '}', '#'),
    minLength: 1,
    maxLength: 6,
  }),
  fc.string({ unit: 'binary', minLength: 1, maxLength: 6 }),
  fc.constantFrom('é', 'é', 'Å', 'Å', '\ud800', '\udfff', '%7C', '%257C', '#missing', '*'),
);

describe('a key of several parts', () => {
  it.each([[1], [2], [3], [4]])('is another for every other list of %d parts', async (count) => {
    const keyOf = limiterOfParts(count);
    const tuples = fc.array(awkward, { minLength: count, maxLength: count });
    // Rearranged: the same characters with the borders elsewhere, which is what a careless joining confuses.
    const pairs = fc.oneof(
      fc.tuple(tuples, tuples),
      fc.tuple(tuples, fc.nat(6)).map(([parts, shift]): [string[], string[]] => {
        const text = parts.join('|');
        const cut = Math.max(1, text.length - shift);
        return [
          parts,
          parts.map((part, i) => (i === 0 ? text.slice(0, cut) : i === 1 ? text.slice(cut) || '|' : part)),
        ];
      }),
    );
    await fc.assert(
      fc.asyncProperty(pairs, async ([one, other]) => {
        const same = one.every((part, i) => part === other[i]);
        expect((await keyOf(one)) === (await keyOf(other))).toBe(same);
      }),
      { numRuns: cases(500), seed: testSeed(42) },
    );
  });

  it('has a budget of its own for every list of parts', async () => {
    const enforce = testEnforcer({ policy, key: [(request) => request.parts?.[0], (request) => request.parts?.[1]] });
    const tuples = [
      ['a|b', 'c'],
      ['a', 'b|c'],
      ['a%7Cb', 'c'],
      ['a%257Cb', 'c'],
      ['é', 'c'],
      ['e\u0301', 'c'],
      ['\ud800', 'c'],
      ['\udfff', 'c'],
      ['x'.repeat(254), 'c'],
      ['x'.repeat(255), 'c'],
      ['x'.repeat(5_000), 'c'],
      [`${'x'.repeat(4_999)}y`, 'c'],
      ['#missing', 'c'],
    ];

    const denials = [];
    for (const parts of tuples) denials.push((await enforce({ parts })).denial);

    expect(denials).toEqual(tuples.map(() => undefined));
  });

  it('is joined in the order the parts are written', async () => {
    const enforce = testEnforcer({
      policy,
      key: [byMethod(), byRoute(), byIp(), byUser(), byHeader('X-Api-Key'), () => 7],
    });

    const { info } = await enforce({
      method: 'POST',
      route: '/users/:id',
      address: '::ffff:192.0.2.7',
      user: 'ann|bob',
      headers: { 'x-api-key': '100%' },
    });

    expect(info?.key).toBe('POST|/users/:id|192.0.2.7|ann%7Cbob|100%25|7');
  });

  it.each<[KeyValue]>([[undefined], [null], ['']])('is missing when one part is %j', async (part) => {
    const enforce = testEnforcer({ policy, key: [byIp(), () => part] });

    const { denial, info, fields } = await enforce();

    expect(denial?.status).toBe(403);
    expect(info).toBeUndefined();
    expect(fields).toEqual([]);
  });

  it.each([[{}], [true], [['a']], [Symbol('s')], [10n], [Number.NaN], [Infinity]])(
    'cannot have %p as a part',
    async (part) => {
      const enforce = testEnforcer({ policy, key: [byIp(), () => part as unknown as string] });

      await expect(enforce()).rejects.toMatchObject({ name: 'TypeError', code: 'SLUICE_KEY_INVALID' });
    },
  );
});
