import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { memoryStore, type Limit, type Policy, type StoreAnswer } from '@sluice/old-core';
import {
  evaluate,
  isFastPathEligible,
  keySuffixOf,
  namePolicies,
  shownMemory,
  type KeyState,
} from '@sluice/old-core/spi';
import { cases, fakeClock, seeded, testSeed, type Random } from '@sluice/testkit';
import { references } from '../../laws/models/index.ts';

const withoutLongStates = references.filter(
  ({ algorithm }) => algorithm !== 'slidingLog' && algorithm !== 'concurrency',
);
const anyPolicy = fc.oneof(...withoutLongStates.map(({ policies }) => policies));
const lists = fc.array(anyPolicy, { minLength: 1, maxLength: 3 });

function limitOf(policies: readonly Policy[]): Limit {
  const named = namePolicies(
    policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` })),
    'shown',
  );
  const own = { policies: named, keySuffix: keySuffixOf('shown', named) };
  return { ...own, fastPathEligible: isFastPathEligible(own) };
}

/** Costs and counts: many of one, some of several, some that never fit. */
function runsOf(random: Random): number[] | undefined {
  if (random.percent(30)) return undefined;
  return Array.from({ length: random.integer(1, 4) }, () => [
    random.pick([1, 1, 1, 2, 3, random.integer(1, 200)]),
    random.pick([1, 1, 2, random.integer(1, 60)]),
  ]).flat();
}

describe('a memory store that shows its states', () => {
  it('decides a batch as requests one by one, and shows each key as it was before', () => {
    fc.assert(
      fc.property(lists, fc.nat(), (policies, seed) => {
        const random = seeded(seed);
        const clock = fakeClock();
        const limit = limitOf(policies);
        const batched = shownMemory(memoryStore({ clock }));
        const single = memoryStore({ clock });

        for (let turn = 0; turn < 12; turn++) {
          clock.advance(random.integer(0, 20_000));
          const keys = ['a', 'b', 'c'].filter(() => random.percent(60));
          const requests = keys.map((subject) => ({ limit, subject, runs: runsOf(random) }));
          const shown = batched?.performBatch(requests);

          requests.forEach(({ subject, runs = [1, 1] }, i) => {
            const state = { ...(shown?.keys[i] as KeyState) };
            for (let j = 0; j < runs.length; j += 2) {
              const request = { op: 'consume', parts: [{ limit, subject, cost: runs[j] as number }] } as const;
              for (let n = 0; n < (runs[j + 1] as number); n++) {
                const replayed = evaluate(request, [state], shown?.atMs as number).answer;
                expect(replayed).toEqual(single.perform([request])[0]);
              }
            }
            const peek = { op: 'peek', parts: [{ limit, subject, cost: 1 }] } as const;
            expect((batched?.perform([peek]) as readonly StoreAnswer[])[0]?.parts).toEqual(
              single.perform([peek])[0]?.parts,
            );
          });
        }
      }),
      { seed: testSeed(5), numRuns: cases(40) },
    );
  });

  it('shows the keys of a denied request, unless a state is long', () => {
    const memory = shownMemory(memoryStore());
    const [windowed, logged] = (['slidingWindow', 'slidingLog'] as const).map((algorithm) =>
      limitOf([
        {
          algorithm,
          limit: 1,
          windowMs: 60_000,
          ...(algorithm === 'slidingWindow' ? { precisionMs: 6_000 } : {}),
        } as Policy,
      ]),
    );
    const consume = (limit: Limit | undefined): StoreAnswer | undefined =>
      memory?.perform([{ op: 'consume', parts: [{ limit: limit as Limit, subject: 'key', cost: 1 }] }])[0];

    expect(consume(windowed)?.snapshots).toBeUndefined();
    expect(consume(windowed)?.snapshots).toMatchObject([{ blockedUntilMs: 0, states: [{ sum: 1 }] }]);
    consume(logged);
    expect(consume(logged)).toMatchObject({ parts: [{ policies: [{ allowed: false }] }] });
    expect(consume(logged)).not.toHaveProperty('snapshots');
  });

  it('decides a run of very many requests without a step for each', () => {
    const memory = shownMemory(memoryStore());
    const limit = limitOf([{ algorithm: 'fixedWindow', limit: 999_999_999_999_999, windowMs: 60_000, align: 'clock' }]);
    const runs = [3, 2 ** 40];

    memory?.performBatch([{ limit, subject: 'key', runs }]);

    const [answer] = memory?.perform([
      { op: 'peek', parts: [{ limit, subject: 'key', cost: 0 }] },
    ]) as readonly StoreAnswer[];
    expect(answer?.parts[0]?.policies[0]?.used).toBe(3 * 2 ** 40);
  });

  it('is not there for another store', () => {
    expect(shownMemory({ source: 'remote', perform: () => [] })).toBeUndefined();
  });
});
