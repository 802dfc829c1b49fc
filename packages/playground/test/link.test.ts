import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { cases, testSeed } from '@sluice/testkit';
import {
  COLUMNS,
  FRAMEWORKS,
  HEADER_CHOICES,
  KEY_CHOICES,
  MOST_IN_COLUMN,
  POLICY_KINDS,
  SPANS_MS,
  checkedPolicies,
  initialScenario,
  newPolicy,
  offeredBy,
  parsePaste,
  readLink,
  replay,
  withNames,
  writeLink,
  type Scenario,
} from '../src/index.ts';

const initial = initialScenario();
const scenarios: fc.Arbitrary<Scenario> = fc.record({
  policies: fc
    .array(fc.constantFrom(...POLICY_KINDS.map(({ id }) => newPolicy(id))), { minLength: 1, maxLength: 4 })
    .map(withNames),
  traffic: fc.record({
    from: fc.constant('painted' as const),
    spanMs: fc.constantFrom(...SPANS_MS),
    clients: fc.array(fc.array(fc.nat(MOST_IN_COLUMN), { minLength: COLUMNS, maxLength: COLUMNS }), {
      minLength: 1,
      maxLength: 4,
    }),
    cost: fc.integer({ min: 1, max: 1_000 }),
    runsMs: fc.integer({ min: 1, max: 86_400_000 }),
    retries: fc.constantFrom(undefined, 'after' as const, 'backoff' as const),
  }),
  key: fc.constantFrom(...KEY_CHOICES.map(({ id }) => id)),
  store: fc.constantFrom('memory' as const, 'redis' as const),
  headers: fc.constantFrom(...HEADER_CHOICES.map(({ id }) => id)),
  framework: fc.constantFrom(...FRAMEWORKS.map(({ id }) => id)),
  client: fc.constant(0),
  request: fc.option(fc.nat(1_000), { nil: undefined }),
});

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

  it('is short, and can be read', () => {
    const { link } = writeLink(initial);

    expect(link.length).toBeLessThan(250);
    expect(link).toMatch(/^v=1&p=slidingWindow\*\*limit\*40\*window\*20s&span=1m&bars=[0-9a-zA-Z]+&runs=1s&key=ip&/);
  });

  it('keeps what is wrong in a field, so that it can be put right', () => {
    const policies = [{ kind: 'fixedWindow', name: 'x y', values: { limit: 'ten', window: '1&m=#%' } }];

    expect(readLink(writeLink({ ...initial, policies }).link).scenario.policies).toEqual(policies);
  });

  it('keeps pasted requests with their keys', () => {
    const { traffic } = parsePaste('0 alice\n1 20 b o b\n1.25 7 ünal & söhne\n86399 alice', 250);
    const scenario = { ...initial, traffic: { ...(traffic ?? initial.traffic), retries: 'after' as const } };

    expect(readLink(writeLink(scenario).link)).toEqual({ scenario, problems: [] });
  });

  it('keeps pasted requests whose keys are long, or that are far apart', () => {
    const line = `${'k'.repeat(300)} - - [24/Nov/2026:08:00:01 +0000] "GET / HTTP/1.1" 200 512`;
    for (const text of [line, '2026-01-01T00:00Z\n2028-09-01T00:00Z']) {
      const { traffic } = parsePaste(text, 250);
      const scenario = { ...initial, traffic: traffic ?? initial.traffic };

      expect(readLink(writeLink(scenario).link)).toEqual({ scenario, problems: [] });
    }
  });

  it('leaves out pasted requests that are too many for it, and says so', () => {
    const { traffic } = parsePaste(
      Array.from({ length: 4_000 }, (_, i) => `${String(i)} key-${String(i)}`).join('\n'),
      250,
    );
    const { link, isComplete } = writeLink({ ...initial, traffic: traffic ?? initial.traffic });

    expect(isComplete).toBe(false);
    expect(link.length).toBeLessThan(300);
    expect(readLink(link)).toEqual({ scenario: initial, problems: [] });
  });
});

describe('a bad link', () => {
  const good = writeLink(initial).link;
  const changed = (name: string, value: string): string => {
    const fields = new URLSearchParams(good);
    fields.set(name, value);
    return fields.toString();
  };

  it.each(['', '#', '#heading', '#%E0%A4%A', '#v'])('that has no state (%p) gives the first one', (fragment) => {
    expect(readLink(fragment).scenario).toEqual(initial);
  });

  it('of a version to come gives the first state, and says why', () => {
    expect(readLink(changed('v', '2'))).toEqual({
      scenario: initial,
      problems: ['This link is of another version of the playground.'],
    });
  });

  it.each([
    ['p', 'leastWindow**limit*4', 'policies'],
    ['p', '', 'policies'],
    ['bars', 'Z'.repeat(COLUMNS), 'traffic'],
    ['bars', '1'.repeat(COLUMNS + 1), 'traffic'],
    ['bars', '1.1.1.1.1', 'traffic'],
    ['bars', '12-4', 'traffic'],
    ['span', '17s', 'traffic'],
    ['span', 'soon', 'traffic'],
    ['runs', '2d', 'traffic'],
    ['cost', '0', 'traffic'],
    ['cost', '1e9', 'traffic'],
    ['log', '1_9', 'traffic'],
    ['log', 'zzzzzzzzz', 'traffic'],
    ['log', '1.1.-', 'traffic'],
    ['key', 'shoe size', 'key'],
    ['store', 'paper', 'store'],
    ['headers', 'draft-12', 'header format'],
    ['in', 'sails', 'framework'],
  ])('with %s=%s has the rest, and names what is wrong', (name, value, what) => {
    const { scenario, problems } = readLink(changed(name, value));

    expect(problems).toEqual([`The ${what} of this link could not be read.`]);
    expect(scenario).toEqual(initial);
  });

  it.each([
    ['client', '99'],
    ['client', '-1'],
    ['at', 'never'],
  ])('with %s=%s shows the nearest thing', (name, value) => {
    expect(readLink(changed(name, value))).toEqual({ scenario: initial, problems: [] });
  });

  it('with too many policies is told of', () => {
    const five = '&p=slidingLog**limit*1*window*1s'.repeat(5);

    expect(readLink(`v=1${five}`).problems).toEqual(['The policies of this link could not be read.']);
  });

  it('of any text at all gives a state that can be replayed', () => {
    const names = ['v', 'p', 'span', 'bars', 'log', 'keys', 'cost', 'runs', 'key', 'headers', 'in', 'client', 'at'];
    const texts = fc.array(
      fc.tuple(fc.constantFrom(...names), fc.oneof(fc.string(), fc.stringMatching(/^[0-9a-z*._]{0,90}$/))),
      { maxLength: 12 },
    );

    fc.assert(
      fc.property(texts, fc.boolean(), (fields, isVersioned) => {
        const { scenario } = readLink(`${isVersioned ? 'v=1&' : ''}${new URLSearchParams(fields).toString()}`);
        const { policies } = checkedPolicies(scenario.policies);
        const offered = offeredBy(scenario.traffic);
        const { spanMs } = scenario.traffic;

        expect(offered.every(({ atMs }) => atMs >= 0 && atMs < spanMs)).toBe(true);
        expect(
          replay(policies ?? [], policies ? offered : [], { spanMs, watched: 0, shared: false }).answers,
        ).toHaveLength(policies ? offered.length : 0);
        expect(readLink(writeLink(scenario).link).scenario).toEqual(scenario);
      }),
      { numRuns: cases(200), seed: testSeed(2) },
    );
  });
});
