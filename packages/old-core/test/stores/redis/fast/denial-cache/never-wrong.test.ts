import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Policy } from '@sluice/old-core';
import { cases, testSeed, useRedis } from '@sluice/testkit';
import { references } from '../../../../laws/models/index.ts';
import { modelServer, redisServer, type Server } from './servers.ts';
import { World, type Outcome, type Plan } from './world.ts';

const cached = references.filter(({ algorithm }) => algorithm !== 'concurrency');
const anyPolicy: fc.Arbitrary<Policy> = fc.oneof(...cached.map(({ policies }) => policies));

function plans(limits: fc.Arbitrary<readonly (readonly Policy[])[]>, steps: number): fc.Arbitrary<Plan> {
  return fc.record({
    limits,
    processes: fc.constantFrom(1, 3),
    steps: fc.constant(steps),
    seed: fc.nat(),
    gapMs: fc.constantFrom(1, 10, 60, 300),
    tripMs: fc.constantFrom(0.2, 5, 60),
    ageMs: fc.constantFrom(300, 1000, 20_000),
    freezes: fc.boolean(),
  });
}

const kinds: readonly { readonly kind: string; readonly limits: fc.Arbitrary<readonly (readonly Policy[])[]> }[] = [
  ...cached.map(({ algorithm, policies }) => ({
    kind: algorithm,
    limits: policies.map((policy) => [[policy]]),
  })),
  { kind: 'several policies', limits: fc.array(anyPolicy, { minLength: 2, maxLength: 3 }).map((list) => [list]) },
  {
    kind: 'several limits',
    limits: fc.tuple(
      fc.array(anyPolicy, { minLength: 1, maxLength: 2 }),
      fc.array(anyPolicy, { minLength: 1, maxLength: 2 }),
    ),
  },
];

/** Runs plans, and adds up what they came to. */
async function outcomeOf(
  limits: fc.Arbitrary<readonly (readonly Policy[])[]>,
  { runs, steps }: { readonly runs: number; readonly steps: number },
  server: () => Server,
): Promise<Omit<Outcome, 'wrong'>> {
  const sum = { deniedHere: 0, excused: 0 };
  await fc.assert(
    fc.asyncProperty(plans(limits, steps), async (plan) => {
      const { deniedHere, excused, wrong } = await new World(plan, server()).run();
      sum.deniedHere += deniedHere;
      sum.excused += excused;
      expect(wrong).toEqual([]);
    }),
    { seed: testSeed(7), numRuns: runs },
  );
  return sum;
}

describe('a denial that no store was asked for', () => {
  describe.each(kinds)('of $kind', ({ limits }) => {
    it('is what the model says in that millisecond, but for what others have raised within the age', async () => {
      const runs = cases(20);

      const { deniedHere } = await outcomeOf(limits, { runs, steps: 250 }, modelServer);

      expect(deniedHere).toBeGreaterThan(5 * runs);
    });
  });

  describe('on Redis', () => {
    const redis = useRedis();

    it.each(kinds)('of $kind is what the server says', async ({ limits }) => {
      const runs = cases(20);

      const { deniedHere } = await outcomeOf(limits, { runs, steps: 150 }, () => redisServer(redis.client));

      expect(deniedHere).toBeGreaterThan((20 / 6) * runs);
    });
  });
});
