import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { parsePolicy, type Policy } from '../../src/policies/index.ts';
import { perform } from '../../src/stores/perform.ts';
import { readText, writeText } from '../../src/stores/text.ts';

interface Golden {
  readonly name: string;
  readonly value: string;
  readonly policy: Policy;
  readonly atMs: number;
  readonly figures: readonly number[];
}

// Values as released versions wrote them, and what a peek of one unit answers. Lines are only ever added.
const golden = readFileSync(new URL('golden-values.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Golden);

describe('a value that was stored before', () => {
  it.each(golden.map((one) => [one.name, one] as const))('is still read: %s', (_, { value, policy, atMs, figures }) => {
    const held = readText('key', value);
    const { figures: told } = perform(
      new Map([['key', held]]),
      'peek',
      [{ key: 'key', policy: parsePolicy(policy), cost: 1 }],
      atMs,
    );

    expect(told).toEqual([figures]);
    expect(writeText(readText('key', value))).toBe(value);
  });
});

describe('a value that no store wrote', () => {
  it.each([
    ['nothing', ''],
    ['words', 'hello'],
    ['a number', '5'],
    ['a letter of no kind', 'z11900000000000,60000,1'],
    ['another format', 'f21900000000000,60000,1'],
    ['too few numbers', 'f11900000000000,60000'],
    ['too many numbers', `f11900000000000,60000${',1'.repeat(50)}`],
    ['a negative count', 'f11900000000000,60000,-9'],
    ['a negative start after a block', 't1-1,-1,1,1,1'],
    ['a fraction', 'f11900000000000,60000,0.5'],
    ['an exponent', 'f11900000000000,60000,1e3'],
    ['a number without end', 'f11900000000000,60000,99999999999999999999'],
    ['a block without end', 'f1-99999999999999999999'],
    ['a comma too many', 'f11900000000000,,60000,1'],
    ['a sign alone', 'f1-'],
    ['spaces', 'f1 1900000000000,60000,1'],
    ['lines', 'f11900000000000,60000,1\n2'],
  ])('with %s is an error', (_, value) => {
    expect(() => readText('{ann}:login', value)).toThrow(
      expect.objectContaining({ name: 'StoreError', code: 'SLUICE_STORE_KEY_FOREIGN' }),
    );
  });
});
