import { describe, expect, it } from '@jest/globals';
import { cases } from '@sluice/testkit';
import fc from 'fast-check';
import type { DescriptorEntry } from '../../src/config/configuration.ts';
import { RequestRules } from '../../src/config/request-rules.ts';
import { readSubject } from '@sluice/core/spi';
import { keyOf } from '../../src/config/subject.ts';
import { makeLimit, match, read } from './reading.ts';

/** What joins, escapes and hashes in keys, and what UTF-8 cannot tell apart. */
const AWKWARD = [
  '|',
  '%',
  '_',
  '%7C',
  '%25',
  '%u',
  '#',
  '=',
  ':',
  '{',
  '}',
  '*',
  'a',
  'b',
  '\0',
  '\ud800',
  '\udfff',
  '\ufffd',
  '😀',
  'é',
];
const text = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: fc.constantFrom(...AWKWARD), maxLength: 4 }) },
  { weight: 1, arbitrary: fc.string({ unit: 'binary' }) },
  { weight: 1, arbitrary: fc.constantFrom('x'.repeat(300), 'x'.repeat(301), `${'x'.repeat(300)}|`) },
);
const entries = fc.array(fc.record({ key: text, value: text }), { maxLength: 3 });
const domain = text.filter((one) => one !== '');

/** What core keeps for the entries of a descriptor. */
function subjectOf(domainName: string, list: readonly DescriptorEntry[]): string {
  return readSubject(keyOf(domainName, list));
}

/** As Redis sees it. */
function bytesOf(subject: string): string {
  return Buffer.from(subject, 'utf8').toString('hex');
}

/** Another way to write the same entries that cannot collide. */
function identityOf(domainName: string, list: readonly DescriptorEntry[]): string {
  return JSON.stringify([domainName, ...list.flatMap(({ key, value }) => [key, value])]);
}

describe('a subject', () => {
  it('is another one for other entries, or another domain', () => {
    fc.assert(
      fc.property(domain, entries, domain, entries, (domainA, listA, domainB, listB) => {
        const isSame = identityOf(domainA, listA) === identityOf(domainB, listB);

        expect(bytesOf(subjectOf(domainA, listA)) === bytesOf(subjectOf(domainB, listB))).toBe(isSame);
      }),
      { numRuns: cases(5_000) },
    );
  });

  it('is another one for parts of the same text, divided in another way', () => {
    const divided = fc
      .array(fc.constantFrom(...AWKWARD), { minLength: 2, maxLength: 8 })
      .chain((letters) => fc.tuple(fc.constant(letters), fc.nat(letters.length), fc.nat(letters.length)));
    fc.assert(
      fc.property(divided, ([letters, at, other]) => {
        const halves = (i: number): readonly DescriptorEntry[] => [
          { key: letters.slice(0, i).join(''), value: letters.slice(i).join('') },
        ];

        expect(bytesOf(subjectOf('d', halves(at))) === bytesOf(subjectOf('d', halves(other)))).toBe(
          JSON.stringify(halves(at)) === JSON.stringify(halves(other)),
        );
      }),
      { numRuns: cases(2_000) },
    );
  });

  it.each([
    ['a value and its key', ['a', 'b_c'], ['a_b', 'c']],
    ['an entry and two', ['a', 'b|c|d'], ['a', 'b', 'c', 'd']],
    ['an empty value and none', ['a', '', 'b', ''], ['a', 'b', '', '']],
  ])('tells apart %s', (_what, one, other) => {
    const listOf = (parts: readonly string[]): readonly DescriptorEntry[] =>
      Array.from({ length: parts.length / 2 }, (_, i) => ({ key: parts[2 * i] ?? '', value: parts[2 * i + 1] ?? '' }));

    expect(subjectOf('d', listOf(one))).not.toBe(subjectOf('d', listOf(other)));
  });

  it('is short, however long the entries are', () => {
    expect(subjectOf('d', [{ key: 'k', value: 'v'.repeat(100_000) }]).length).toBeLessThan(300);
  });

  it('does not look like those that Sluice makes itself', () => {
    expect(subjectOf('#preflight:d', [{ key: 'k', value: 'v' }])).toMatch(/^#[\w-]{22}$/);
  });
});

describe('the subject of a match', () => {
  const configuration = read(`
domain: 'd|1%'
descriptors:
  - key: 'k|%'
    rate_limit: { unit: minute, requests_per_unit: 1 }
    descriptors:
      - { key: inner, rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: fixed, value: 'v|%', rate_limit: { unit: minute, requests_per_unit: 1 } }
  - { key: fixed, value: 'w*', rate_limit: { unit: minute, requests_per_unit: 1 } }
`);
  const rules = configuration.domains.get('d|1%');

  it('is that of its entries', () => {
    const lists = fc.oneof(
      fc.tuple(fc.constant('k|%'), text).map(([key, value]) => [{ key, value }]),
      fc.tuple(text, text).map(([a, b]) => [
        { key: 'k|%', value: a },
        { key: 'inner', value: b },
      ]),
      text.map((value) => [{ key: 'fixed', value: `w${value}` }]),
      fc.constant([{ key: 'fixed', value: 'v|%' }]),
    );
    fc.assert(
      fc.property(lists, (list) => {
        expect(rules?.match(list)?.key).toBe(keyOf('d|1%', list));
      }),
      { numRuns: cases(1_000) },
    );
  });
});

describe('a limit that a request brings', () => {
  const overrides = new RequestRules(makeLimit);
  const entry = [{ key: 'k', value: 'v' }];

  it('is a window of its unit, aligned to the clock, and enforces', () => {
    expect(overrides.of(7, 'hour')).toMatchObject({
      limit: { fixed: [{ policy: { limit: 7, windowMs: 3_600_000, align: 'clock' } }] },
      rateLimit: { requestsPerUnit: 7, unit: 'hour' },
      name: undefined,
      replaces: [],
      shadowMode: false,
      quotaMode: false,
    });
  });

  it('is the same object for the same numbers', () => {
    expect(overrides.of(7, 'hour')).toBe(overrides.of(7, 'hour'));
    expect(overrides.of(7, 'hour')).not.toBe(overrides.of(7, 'day'));
    expect(overrides.of(7, 'hour')).not.toBe(overrides.of(8, 'hour'));
  });

  it('counts in the state of a rule of that unit, whatever the numbers are', () => {
    const file = match(
      read('domain: d\ndescriptors: [{ key: k, rate_limit: { unit: hour, requests_per_unit: 1 } }]'),
      'd',
      'k=v',
    );
    const suffix = file?.rule.limit?.fixed?.[0]?.suffix;

    expect(keyOf('d', entry)).toBe(file?.key);
    expect(overrides.of(7, 'hour').limit?.fixed?.[0]?.suffix).toBe(suffix);
    expect(overrides.of(4_294_967_295, 'hour').limit?.fixed?.[0]?.suffix).toBe(suffix);
    expect(overrides.of(7, 'day').limit?.fixed?.[0]?.suffix).not.toBe(suffix);
  });

  it('is kept for a while, and made again after thousands of others', () => {
    let made = 0;
    const counted = new RequestRules((policy) => {
      made++;
      return makeLimit(policy);
    });
    for (let i = 0; i < 1_000; i++) counted.of(i, 'minute');
    for (let i = 0; i < 1_000; i++) counted.of(i, 'minute');
    const afterRepeats = made;
    for (let i = 1_000; i < 3_000; i++) counted.of(i, 'minute');
    counted.of(0, 'minute');

    expect([afterRepeats, made]).toEqual([1_000, 3_001]);
  });
});
