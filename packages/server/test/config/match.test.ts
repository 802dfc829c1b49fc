import { describe, expect, it } from '@jest/globals';
import { cases } from '@sluice/testkit';
import fc from 'fast-check';
import { RequestRules } from '../../src/config/request-rules.ts';
import { makeKey, type DescriptorEntry } from '../../src/config/subject.ts';
import { makeLimit, match, rateOf, read } from './reading.ts';

const DAY_MS = 86_400_000;
const limit = (requests: number, unit = 'minute'): string =>
  `rate_limit: { unit: ${unit}, requests_per_unit: ${String(requests)} }`;
const file = (descriptors: string): string => `domain: d\ndescriptors:\n${descriptors}`;

describe('a descriptor', () => {
  const configuration = read(
    file(`
  - key: tenant
    value: acme
    descriptors:
      - { key: user, ${limit(5)} }
      - { key: user, value: root, ${limit(10)} }
  - { key: plan, ${limit(20)}, descriptors: [{ key: user, ${limit(21)} }] }
  - { key: plan, value: gold, ${limit(30)}, descriptors: [{ key: device, ${limit(2)} }] }
  - { key: plan, value: staff }
  - { key: probe, rate_limit: { unlimited: true } }
`),
  );

  it.each([
    ['the key alone', ['plan=silver'], '20/minute', 'd.plan'],
    ['key and value before the key alone', ['plan=gold'], '30/minute', 'd.plan_gold'],
    ['a key without any value', ['plan='], '20/minute', 'd.plan'],
    ['an inner key', ['tenant=acme', 'user=ann'], '5/minute', 'd.tenant_acme.user'],
    ['an inner key and value', ['tenant=acme', 'user=root'], '10/minute', 'd.tenant_acme.user_root'],
    ['a descriptor below one that has a limit too', ['plan=silver', 'user=ann'], '21/minute', 'd.plan.user'],
    ['unlimited', ['probe=1'], 'unlimited', 'd.probe'],
  ])('matches %s', (_what, entries, expected, metric) => {
    expect(rateOf(configuration, 'd', ...entries)).toBe(expected);
    expect(match(configuration, 'd', ...entries)?.metric).toBe(metric);
  });

  it.each([
    ['another domain', 'other', ['plan=gold']],
    ['no entries', 'd', []],
    ['an unknown key', 'd', ['colour=red']],
    ['a value without a limit', 'd', ['plan=staff']],
    ['a value that only deeper descriptors name', 'd', ['tenant=other']],
    ['fewer entries than the rule has', 'd', ['tenant=acme']],
    ['more entries than the rule has', 'd', ['tenant=acme', 'user=root', 'device=1']],
    ['the entries in another order', 'd', ['user=ann', 'tenant=acme']],
    ['a key and value that only join to the same text', 'd', ['tenant_acme=', 'user=ann']],
    ['what only the key alone has below it, if the value has rules', 'd', ['plan=gold', 'user=ann']],
  ])('matches nothing for %s', (_what, domain, entries) => {
    expect(rateOf(configuration, domain, ...entries)).toBe('no rule');
  });
});

describe('the units of rate_limit', () => {
  it.each([
    ['second', 1_000],
    ['minute', 60_000],
    ['hour', 3_600_000],
    ['Day', DAY_MS],
    ['week', 7 * DAY_MS],
    ['month', 30 * DAY_MS],
    ['YEAR', 365 * DAY_MS],
  ])('%s is a window of %d ms, aligned to the clock', (unit, windowMs) => {
    const rule = match(read(file(`  - { key: k, ${limit(7, unit)} }`)), 'd', 'k=1')?.rule;
    const policy = { algorithm: 'fixedWindow', limit: 7, windowMs, align: 'clock' };
    expect(rule?.limit).toMatchObject({ fixed: [{ name: unit.toLowerCase(), policy }] });
    expect(rule?.rateLimit).toEqual({ requestsPerUnit: 7, unit: unit.toLowerCase() });
  });

  it('are the only part of the key that a rule adds: another number of requests, also of the request, keeps the state', () => {
    const requested = new RequestRules(makeLimit);
    const rule = match(read(file(`  - { key: k, ${limit(7)} }`)), 'd', 'k=1')?.rule;
    const suffixes = [rule, requested.of(9, 'minute'), requested.of(9, 'hour')].map(
      (one) => one?.limit?.fixed?.[0]?.suffix,
    );
    expect(suffixes[0]).toBe(suffixes[1]);
    expect(suffixes[0]).not.toBe(suffixes[2]);
  });
});

describe('a limit that a request brings', () => {
  it('is kept for a while, and made again after thousands of others', () => {
    let made = 0;
    const rules = new RequestRules((policy) => {
      made++;
      return makeLimit(policy);
    });
    for (let round = 0; round < 2; round++) for (let i = 0; i < 1_000; i++) rules.of(i, 'minute');
    const afterRepeats = made;
    for (const requests of [1_000, 0]) rules.of(requests, 'minute');
    expect([afterRepeats, made]).toEqual([1_000, 1_002]);
  });
});

describe('a value with *', () => {
  const configuration = read(
    file(`
  - { key: trailing, value: foo*, ${limit(1)} }
  - { key: middle, value: bar*b, ${limit(3)} }
  - { key: several, value: foo*bar*baz, ${limit(4)} }
  - { key: leading, value: '*.png', ${limit(5)} }
  - { key: every, value: '*', ${limit(6)} }
  - { key: overlap, value: 'aba*aba', ${limit(7)} }
  - { key: repeated, value: 'a**b*b*c', ${limit(8)} }
  - { key: ordered, ${limit(1)} }
  - { key: ordered, value: ab*, ${limit(2)} }
  - { key: ordered, value: a*, ${limit(3)} }
  - { key: ordered, value: abc*, ${limit(4)} }
  - { key: ordered, value: abc, ${limit(5)} }
`),
  );

  it.each([
    ['trailing=foo', '1/minute'],
    ['trailing=foo1', '1/minute'],
    ['trailing=xfoo', 'no rule'],
    ['middle=barb', '3/minute'],
    ['middle=bar123b', '3/minute'],
    ['middle=bara', 'no rule'],
    ['several=foo123bar456baz', '4/minute'],
    ['several=foobarbaz', '4/minute'],
    ['several=foobazbar', 'no rule'],
    ['leading=.png', '5/minute'],
    ['leading=a.png.exe', 'no rule'],
    ['every=', '6/minute'],
    ['overlap=ababa', 'no rule'],
    ['overlap=abaaba', '7/minute'],
    ['repeated=abbc', '8/minute'],
    ['repeated=abc', 'no rule'],
    ['ordered=abc', '5/minute'],
    ['ordered=abcd', '2/minute'],
    ['ordered=ax', '3/minute'],
    ['ordered=x', '1/minute'],
    ['ordered=abc*', '4/minute'], // what a request writes like a pattern is that pattern
  ])('%s matches: %s', (entry, expected) => {
    expect(rateOf(configuration, 'd', entry)).toBe(expected);
  });

  it('counts each value by itself, and is the pattern in metrics', () => {
    const found = ['foo1', 'foo2', 'foo'].map((value) => match(configuration, 'd', `trailing=${value}`));
    expect(new Set(found.map((one) => one?.key)).size).toBe(3);
    expect(found[0]?.metric).toBe('d.trailing_foo*');
  });
});

describe('share_threshold', () => {
  const configuration = read(
    file(`
  - { key: files, value: files/*, share_threshold: true, ${limit(100)} }
  - { key: files, value: files/own, ${limit(50)} }
  - key: path
    value: path/*
    share_threshold: true
    descriptors:
      - key: file
        value: file/*
        descriptors: [{ key: type, ${limit(120)} }]
`),
  );
  const keys = (...lists: readonly (readonly string[])[]): number =>
    new Set(lists.map((entries) => match(configuration, 'd', ...entries)?.key)).size;

  it('counts all values of a pattern together, but those that have a rule of their own', () => {
    expect(keys(['files=files/a'], ['files=files/b'], ['files=files/*'])).toBe(1);
    expect(rateOf(configuration, 'd', 'files=files/own')).toBe('50/minute');
    expect(match(configuration, 'd', 'files=files/a')?.metric).toBe('d.files_files/*');
  });

  it('of an outer descriptor leaves the inner values apart', () => {
    const inner = ['file=file/1', 'type=pdf'];
    expect(keys(['path=path/a', ...inner], ['path=path/b', ...inner])).toBe(1);
    expect(
      keys(
        ['path=path/a', ...inner],
        ['path=path/a', 'file=file/2', 'type=pdf'],
        ['path=path/a', 'file=file/1', 'type=csv'],
      ),
    ).toBe(3);
  });
});

describe('what else a rule has', () => {
  const { rule } =
    match(
      read(
        file(`
  - &usual
    key: other
    shadow_mode: yes
    quota_mode: off
    rate_limit: &rate { unit: second, requests_per_unit: 5, name: mine, replaces: [{ name: one }, { name: two }] }
    metadata: { service: { name: orders, weight: 2 }, tags: [a, 1, true, null] }
  - { <<: *usual, key: 012, value: yes, rate_limit: { <<: *rate, requests_per_unit: 9 } }
`),
      ),
      'd',
      '012=yes',
    ) ?? {};

  it('is read, also by aliases and merged maps, and texts as they are written', () => {
    expect(rule).toMatchObject({
      ...{ name: 'mine', replaces: ['one', 'two'], shadowMode: true, quotaMode: false },
      rateLimit: { requestsPerUnit: 9, unit: 'second' },
      metadata: { service: { name: 'orders', weight: 2 }, tags: ['a', 1, true, null] },
    });
  });
});

/** What joins and escapes in keys. Requests have no half surrogate pairs: their texts are UTF-8. */
const AWKWARD = ['|', '%', '_', '%7C', '%25', '%u', '*', 'a', 'b', '\0', '\ufffd', '😀'];
const text = fc.string({ unit: fc.constantFrom(...AWKWARD), maxLength: 4 });
const entries = fc.array(fc.record({ key: text, value: text }), { maxLength: 3 });

describe('the key of a descriptor', () => {
  it('is another one, in the bytes that Redis sees, for other entries or another domain', () => {
    const makeBytes = (domain: string, list: readonly DescriptorEntry[]): string =>
      Buffer.from(makeKey(domain, list), 'utf8').toString('hex');
    fc.assert(
      fc.property(text, entries, text, entries, (domain, list, otherDomain, otherList) => {
        const isSame = JSON.stringify([domain, list]) === JSON.stringify([otherDomain, otherList]);
        expect(makeBytes(domain, list) === makeBytes(otherDomain, otherList)).toBe(isSame);
      }),
      { numRuns: cases(5_000) },
    );
  });
});
