import { describe, expect, it } from '@jest/globals';
import type { Decision, PolicyDecision } from '@sluice/old-core';
import { fieldWriter } from '@sluice/old-http/spi';
import { cases, testSeed } from '@sluice/testkit';
import fc from 'fast-check';
import { parseList, serializeList } from 'structured-headers';

const LARGEST = 999_999_999_999_999;
const LONGEST_MS = 36_500 * 86_400_000;

const names = fc.stringMatching(/^[A-Za-z][A-Za-z0-9._-]{0,63}$/);
const policyDecisions: fc.Arbitrary<PolicyDecision> = fc.record({
  name: names,
  allowed: fc.boolean(),
  limit: fc.integer({ min: 0, max: LARGEST }),
  remaining: fc.integer({ min: 0, max: LARGEST }),
  retryAfterMs: fc.option(fc.integer({ min: 0, max: LONGEST_MS })),
  resetAfterMs: fc.integer({ min: 0, max: LONGEST_MS }),
  delayMs: fc.constant(0),
  windowMs: fc.integer({ min: 1, max: LONGEST_MS }),
  nextAfterMs: fc.option(fc.integer({ min: 1, max: LONGEST_MS })),
  used: fc.integer({ min: 0, max: LARGEST }),
});
const decisions: fc.Arbitrary<Decision> = fc.array(policyDecisions, { minLength: 1, maxLength: 5 }).map((policies) => ({
  ...(policies[0] as PolicyDecision),
  policy: policies[0]?.name ?? '',
  outcome: 'allowed',
  cost: 1,
  source: 'memory',
  atMs: 1_795_262_400_250,
  policies,
}));

describe('the draft-11 fields of any decision', () => {
  it('are structured lists in canonical form, as an independent parser reads and writes them', () => {
    fc.assert(
      fc.property(decisions, (decision) => {
        for (const { value } of fieldWriter('draft-11')(decision)) expect(serializeList(parseList(value))).toBe(value);
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });

  it('carry, in order, every policy: quota and window, what is left and the wait for more', () => {
    fc.assert(
      fc.property(decisions, (decision) => {
        const [quotas, states] = fieldWriter('draft-11')(decision).map(({ value }) => parseList(value));

        expect(quotas).toEqual(
          decision.policies.map(({ name, limit, windowMs }) => [
            name,
            new Map([
              ['q', limit],
              ['w', Math.ceil(windowMs / 1000)],
            ]),
          ]),
        );
        expect(states).toEqual(
          decision.policies.map(({ name, remaining, nextAfterMs }) => [
            name,
            new Map([
              ['r', remaining],
              ...(nextAfterMs === null ? [] : ([['t', Math.ceil(nextAfterMs / 1000)]] as const)),
            ]),
          ]),
        );
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });

  it('give no window and no wait of zero seconds', () => {
    fc.assert(
      fc.property(decisions, (decision) => {
        for (const { value } of fieldWriter('draft-11')(decision)) expect(value).not.toMatch(/;[wt]=0/);
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });
});
