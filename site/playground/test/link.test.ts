import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases, testSeed } from '@sluice/testkit';
import { FRAMEWORKS } from '../code.ts';
import { readLink, writeLink } from '../link.ts';
import { parsePaste } from '../paste.ts';
import { POLICY_KINDS, checkPolicies, newPolicy, withNames } from '../policies.ts';
import { replay } from '../replay.ts';
import { KEY_CHOICES, initialScenario, type Scenario } from '../scenario.ts';
import { HEADER_CHOICES } from '../shown.ts';
import { COLUMNS, MAX_IN_COLUMN, RETRY_CHOICES, SPANS_MS, listRequests } from '../traffic.ts';

const initial = initialScenario();
const pick = <T>(of: readonly { readonly id: T }[]): fc.Arbitrary<T> => fc.constantFrom(...of.map(({ id }) => id));
const row = fc.array(fc.nat(MAX_IN_COLUMN), { minLength: COLUMNS, maxLength: COLUMNS });
const scenarios: fc.Arbitrary<Scenario> = fc.record({
  policies: fc.array(pick(POLICY_KINDS).map(newPolicy), { minLength: 1, maxLength: 4 }).map(withNames),
  traffic: fc.record({
    from: fc.constant('painted' as const),
    spanMs: fc.constantFrom(...SPANS_MS),
    clients: fc.array(row, { minLength: 1, maxLength: 4 }),
    cost: fc.integer({ min: 1, max: 1_000 }),
    runsMs: fc.integer({ min: 1, max: 86_400_000 }),
    retries: pick(RETRY_CHOICES),
  }),
  key: pick(KEY_CHOICES),
  store: fc.constantFrom('memory' as const, 'redis' as const),
  headers: pick(HEADER_CHOICES),
  framework: pick(FRAMEWORKS),
  client: fc.constant(0),
  request: fc.option(fc.nat(1_000), { nil: undefined }),
});

/** The first scenario with pasted traffic. */
function pasted(text: string): Scenario {
  const { traffic = initial.traffic } = parsePaste(text);
  return { ...initial, traffic };
}

describe('a link', () => {
  it('keeps the state, whatever was chosen and painted', () => {
    fc.assert(
      fc.property(scenarios, (scenario) => {
        const { link, isComplete } = writeLink(scenario);

        expect(isComplete).toBe(true);
        expect(readLink(`#${link}`)).toEqual({ scenario, problems: [] });
      }),
      { numRuns: cases(200), seed: testSeed(1) },
    );
  });

  it('keeps what is wrong in a field, so that it can be put right', () => {
    const policies = [{ kind: 'fixedWindow', values: { limit: 'ten', window: '1&m=#%', name: 'x y' } }];

    expect(readLink(writeLink({ ...initial, policies }).link).scenario.policies).toEqual(policies);
  });

  it.each([
    '0 alice\n1 20 b,ob 7\n1.25 7 ünal*&söhne\n86399.001 alice\n86400',
    `${'k'.repeat(300)}, - - [24/Nov/2026:08:00:01 +0000] "GET / HTTP/1.1" 200 512`,
    '2026-01-01T00:00Z\n2028-09-01T00:00Z',
  ])('keeps pasted requests with their keys: %p', (text) => {
    const scenario = pasted(text);

    expect(scenario.traffic.from).toBe('pasted');
    expect(readLink(writeLink(scenario).link)).toEqual({ scenario, problems: [] });
  });

  it('leaves out pasted requests that are too many for it, and says so', () => {
    const lines = Array.from({ length: 4_000 }, (_, i) => `${String(i)} key-${String(i)}`);
    const { link, isComplete } = writeLink(pasted(lines.join('\n')));

    expect(isComplete).toBe(false);
    expect(readLink(link)).toEqual({ scenario: initial, problems: [] });
  });
});

describe('a bad link', () => {
  const changed = (name: string, value: string): string => {
    const fields = new URLSearchParams(writeLink(initial).link);
    fields.set(name, value);
    return fields.toString();
  };

  it.each(['', '#', '#heading', '#%E0%A4%A', '#v'])('that has no state (%p) gives the first one', (fragment) => {
    expect(readLink(fragment).scenario).toEqual(initial);
  });

  it('of a version to come gives the first state, and says why', () => {
    const problems = ['This link is of another version of the playground.'];

    expect(readLink(changed('v', '2'))).toEqual({ scenario: initial, problems });
  });

  it.each([
    ['p', 'leastWindow*limit*4', 'policies'],
    ['bars', 'Z'.repeat(COLUMNS), 'traffic'],
    ['bars', '1'.repeat(COLUMNS + 1), 'traffic'],
    ['span', '17s', 'traffic'],
    ['runs', '2d', 'traffic'],
    ['cost', '0', 'traffic'],
    ['retry', 'soon', 'traffic'],
    ['log', '1*never', 'traffic'],
    ['key', 'shoe size', 'key'],
    ['key', 'toString', 'key'],
    ['framework', '__proto__', 'framework'],
    ['p', '__proto__*constructor', 'policies'],
  ])('with %s=%s has the rest, and names what is wrong', (name, value, what) => {
    const problems = [`The ${what} of this link could not be read.`];

    expect(readLink(changed(name, value))).toEqual({ scenario: initial, problems });
  });

  it.each([
    ['client', '99'],
    ['client', '-1'],
    ['at', 'never'],
  ])('with %s=%s shows the nearest thing', (name, value) => {
    expect(readLink(changed(name, value))).toEqual({ scenario: initial, problems: [] });
  });

  it('of any text at all gives a state that can be replayed', () => {
    const names = ['v', 'p', 'span', 'bars', 'log', 'cost', 'runs', 'key', 'headers', 'framework', 'client', 'at'];
    const texts = fc.array(
      fc.tuple(fc.constantFrom(...names), fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-z*._]{0,90}$/))),
      { maxLength: 12 },
    );

    fc.assert(
      fc.property(texts, fc.boolean(), (fields, isVersioned) => {
        const { scenario } = readLink(`${isVersioned ? 'v=1&' : ''}${new URLSearchParams(fields).toString()}`);
        const { policies } = checkPolicies(scenario.policies);
        const offered = listRequests(scenario.traffic);

        expect(offered.every(({ atMs }) => atMs >= 0 && atMs < scenario.traffic.spanMs)).toBe(true);
        expect(readLink(writeLink(scenario).link).scenario).toEqual(scenario);
        if (policies === undefined) return;
        const { answers } = replay(policies, scenario.traffic, { watched: 0, isShared: false });
        expect(answers.length).toBeGreaterThanOrEqual(offered.length);
      }),
      { numRuns: cases(200), seed: testSeed(2) },
    );
  });
});
