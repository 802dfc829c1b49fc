import { describe, expect, it } from '@jest/globals';
import { fixedWindow, memoryStore, slidingWindow, tokenBucket, type Policy } from '@sluice/old-core';
import { cases, fakeClock, testSeed, testEnforcer } from '@sluice/testkit';
import fc from 'fast-check';
import { parseList } from 'structured-headers';

const spans = fc.integer({ min: 1, max: 5_000 });
const units = fc.integer({ min: 1, max: 5 });
const policies: fc.Arbitrary<Policy> = fc.oneof(
  fc
    .record({ limit: units, window: spans, align: fc.constantFrom('clock' as const, 'first-hit' as const) })
    .map(fixedWindow),
  fc.record({ limit: units, window: spans }).map(slidingWindow),
  fc.record({ capacity: units, refill: units, every: spans }).map((options) => tokenBucket(options)),
);

describe('Retry-After', () => {
  it('is a whole number of seconds, at least 1, never before t, and long enough', async () => {
    await fc.assert(
      fc.asyncProperty(policies, fc.array(fc.nat(3_000), { minLength: 1, maxLength: 10 }), async (policy, pauses) => {
        const clock = fakeClock();
        const enforce = testEnforcer({ policy, store: memoryStore({ clock }) });
        let denied = await enforce();
        for (const pause of pauses) {
          clock.advance(pause);
          while (denied.denial === undefined) denied = await enforce();
        }

        const text = denied.denial?.fields.find(({ name }) => name === 'Retry-After')?.value ?? '';
        const [[, parameters]] = parseList(denied.fields[1]?.value ?? '') as [[string, Map<string, number>]];
        clock.advance(Number(text) * 1000);
        const retried = await enforce();

        expect(text).toMatch(/^[1-9]\d*$/);
        expect(Number(text)).toBeGreaterThanOrEqual(parameters.get('t') ?? Infinity);
        expect(retried.denial).toBeUndefined();
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });
});
