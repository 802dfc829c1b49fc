import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  fixedWindow,
  leakyBucket,
  slidingCounter,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Policy,
} from '@sluice/old-core';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { START_MS } from '../traces/step.ts';
import { modelled, peekModel } from '../laws/models/verdict.ts';
import type { Receipt } from '../laws/models/model.ts';
import { fits, ruleOf } from './rules.ts';
import type { Reply } from './history.ts';

const few = fc.integer({ min: 1, max: 12 });
const short = fc.integer({ min: 1, max: 400 });
const overdraft = fc.constantFrom(0, 0, 1, 5);

const policies: Record<string, fc.Arbitrary<Policy>> = {
  'fixedWindow from the first hit': fc.record({ limit: few, window: short }).map((options) => fixedWindow(options)),
  'fixedWindow on the clock': fc
    .record({ limit: few, window: short })
    .map((options) => fixedWindow({ ...options, align: 'clock' })),
  slidingWindow: fc.record({ limit: few, window: short }).map((options) => slidingWindow(options)),
  slidingLog: fc.record({ limit: few, window: short }).map((options) => slidingLog(options)),
  slidingCounter: fc.record({ limit: few, window: short }).map((options) => slidingCounter(options)),
  'tokenBucket, continuous': fc
    .record({ capacity: few, refill: few, every: short, overdraft })
    .map((options) => tokenBucket(options)),
  'tokenBucket, in intervals': fc
    .record({ capacity: few, refill: few, every: short, overdraft })
    .map((options) => tokenBucket({ ...options, mode: 'interval' })),
  leakyBucket: fc
    .record({ limit: few, window: short, maxDelay: fc.integer({ min: 0, max: 400 }) })
    .map((options) => leakyBucket(options)),
};

describe.each(Object.entries(policies))('the rule of %s', (_kind, arbitrary) => {
  it('has the numbers of the reference model after each step', () => {
    fc.assert(
      fc.property(arbitrary, fc.nat(), (policy, seed) => {
        const random = seeded(seed);
        const rule = ruleOf(policy);
        const reference = modelled('one', policy);
        const { model } = reference;
        const consumed: { cost: number; receipt: Receipt; charge: Reply }[] = [];
        let state = rule.later([], START_MS);
        let atMs = START_MS;
        for (let step = 0; step < 60; step++) {
          atMs += random.pick([0, 0, 1, random.integer(0, 30), random.integer(0, 500)]);
          state = rule.later(state, atMs);
          const cost = random.integer(1, 6);

          const asRule = [rule.left(state, atMs), state.length === 0, fits(rule, state, cost, atMs)];
          const now = BigInt(atMs);
          const left = Number(model.remaining(now));
          expect([Math.max(Number(asRule[0]), 0), ...asRule.slice(1)]).toEqual([
            left,
            model.isUnused(now),
            model.fits(BigInt(cost), now),
          ]);

          const [oldest] = consumed;
          if (oldest !== undefined && random.percent(30)) {
            consumed.shift();
            model.refund(BigInt(oldest.cost), oldest.receipt, now);
            state = rule.later(rule.giveBack(state, oldest.cost, oldest.charge, 0, atMs), atMs);
          } else if (fits(rule, state, cost, atMs)) {
            const receipt = model.charge(BigInt(cost), now);
            state = rule.charge(state, cost, atMs);
            const charge = { allowed: true, atMs, policies: [peekModel(reference, now)] };
            consumed.push({ cost, receipt, charge });
          }
        }
      }),
      { numRuns: cases(100), seed: testSeed(42) },
    );
  });
});
