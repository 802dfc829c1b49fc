import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed, type Random } from '@sluice/testkit';
import fc from 'fast-check';
import { ALLOWED, DELAY, RESET_AFTER, RETRY_AFTER, USED } from '../../src/program/decide.ts';
import { compile, type Policy } from '../../src/policies/index.ts';
import { anyPolicy, NAMES, type KindName } from './any-policy.ts';
import { describeModel, modelOf, waitFor } from './models.ts';
import { ProgramStore, START } from './stores.ts';

const seed = testSeed(20_261_129);
const RUNS = 200;

interface Step {
  readonly afterMs: number;
  readonly cost: number;
}

const steps = fc.array(
  fc.record({
    afterMs: fc.oneof(fc.constantFrom(0, 1, 2, 7, 99, 1_000, 30_000), fc.integer({ min: 0, max: 100_000 })),
    cost: fc.constantFrom(1, 1, 1, 2, 5),
  }),
  { minLength: 1, maxLength: 25 },
);
const policyOf = (kind: KindName, blocks = false): fc.Arbitrary<Policy> =>
  fc.integer().map((number) => anyPolicy(seeded(number), kind, blocks));

/** Checks a law for a policy of this kind on a key that some steps have used. */
function holds(kind: KindName, law: (policy: Policy, used: readonly Step[]) => void, blocks = false): void {
  fc.assert(fc.property(policyOf(kind, blocks), steps, law), { numRuns: cases(RUNS), seed });
}

/** A key of its own, and requests for it. */
class Subject {
  readonly store = new ProgramStore();
  readonly policy: Policy;
  #holder = 0;

  constructor(policy: Policy) {
    this.policy = policy;
  }

  figures(op: 'take' | 'peek', cost: number): readonly number[] {
    return this.store.ask(op, this.policy, cost, { holder: ++this.#holder });
  }

  use(used: readonly Step[]): readonly number[] {
    let last: readonly number[] = [];
    for (const { afterMs, cost } of used) {
      this.store.clock.advance(afterMs);
      last = this.figures('take', cost);
    }
    return last;
  }
}

describe('the program', () => {
  describe.each(NAMES)('%s', (kind) => {
    it('answers every figure as the reference model, in which a denial and a peek change nothing', () => {
      holds(kind, (policy, used) => {
        const subject = new Subject(policy);
        const model = modelOf(policy);
        for (const { afterMs, cost } of used) {
          subject.store.clock.advance(afterMs);
          const t = subject.store.clock.atMs;
          const wait = waitFor(model, cost, t);
          const delay = wait === 0 ? (model.delay?.(t) ?? 0) : 0;
          if (wait === 0) model.take(cost, t);
          const [remaining, units, reset, next] = describeModel(model, t, kind === 'concurrency');
          subject.figures('peek', 1);

          const told = subject.figures('take', cost);

          expect(told).toEqual([wait === 0 ? 1 : 0, remaining, units, wait, reset, next, delay, 0]);
        }
      });
    });

    it('answers a peek as a request at the same instant', () => {
      holds(
        kind,
        (policy, used) => {
          const subject = new Subject(policy);
          subject.use(used);

          const [peeked, taken] = [subject.figures('peek', 2), subject.figures('take', 2)];

          const told = [ALLOWED, DELAY];
          expect(told.map((place) => peeked[place])).toEqual(told.map((place) => taken[place]));
          // Only the request starts a block.
          if (compile(policy).numbers[2] === 0) expect(peeked[RETRY_AFTER]).toBe(taken[RETRY_AFTER]);
        },
        true,
      );
    });

    it('decides from the end of its state on as if it were never used', () => {
      fc.assert(
        fc.property(policyOf(kind), steps, steps, (policy, used, later) => {
          const [old, fresh] = [new Subject(policy), new Subject(policy)];
          old.store.clock.advance(old.use(used)[RESET_AFTER] ?? 0);
          fresh.store.clock.atMs = old.store.clock.atMs;

          for (const step of later) expect(old.use([step])).toEqual(fresh.use([step]));
        }),
        { numRuns: cases(RUNS), seed },
      );
    });
  });

  it('takes from all keys of a decision, or from none', () => {
    const all = fc.array(
      fc.constantFrom(...NAMES).chain((kind) => policyOf(kind)),
      { minLength: 2, maxLength: 4 },
    );
    fc.assert(
      fc.property(all, steps, (policies, used) => {
        const store = new ProgramStore();
        const models = policies.map(modelOf);
        let holder = 0;
        for (const { afterMs, cost } of used) {
          store.clock.advance(afterMs);
          const t = store.clock.atMs;
          const waits = models.map((model) => waitFor(model, cost, t));
          if (waits.every((wait) => wait === 0)) for (const model of models) model.take(cost, t);

          const asks = policies.map((policy, i) => ({ key: String(i), policy, cost, holder: ++holder }));
          const { figures } = store.perform('take', asks);

          expect(figures.map((told) => told[RETRY_AFTER])).toEqual(waits);
          expect(figures.map((told) => told[USED])).toEqual(models.map((model) => Math.ceil(model.used(t))));
        }
      }),
      { numRuns: cases(RUNS), seed },
    );
  });
});

describe('a clock that ran ahead by an hour', () => {
  const HOUR = 3_600_000;

  it.each(NAMES)('is forgotten when it is right again: %s', (kind) => {
    const random: Random = seeded(seed);
    for (let trace = 0; trace < cases(100); trace++) {
      const policy = anyPolicy(random, kind, false);
      const [ahead, right] = [new Subject(policy), new Subject(policy)];
      ahead.store.clock.advance(HOUR);
      for (let step = 0; step < 30; step++) {
        const afterMs = random.pick([0, 1, 50]);
        ahead.use([{ afterMs, cost: 1 }]);
        right.use([{ afterMs, cost: 1 }]);
      }
      const passedMs = right.store.clock.atMs - START;
      ahead.store.clock.atMs = right.store.clock.atMs;

      const [wait, usual] = [ahead.figures('peek', 1), right.figures('peek', 1)].map((told) => told[RETRY_AFTER] ?? 0);

      // The state is read as of its write, so that it has aged by less than what has passed; a counter counts for two windows.
      const most = Math.max(usual ?? 0, 2 * compile(policy).windowMs) + passedMs + 1;
      expect(wait).toBeLessThanOrEqual(most);
    }
  });
});
