import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLimiter, type Decision } from '@sluice/old-core';
import { cases, fakeClock, seeded, useRedis, take } from '@sluice/testkit';
import { START_MS, nextInstant } from '../traces/step.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { anyPolicy, forAll, open, denial, scenes, seed, someCost } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];
const lists = scenes(fc.array(anyPolicy, { minLength: 2, maxLength: 4 }));

const remainingOf = ({ policies }: Decision): number[] => policies.map(({ remaining }) => remaining);

describe('law 3: over several policies of one limiter', () => {
  it.each(backends)('a denial by one consumes nothing from the others, in $name', async (backend) => {
    await forAll(lists, backend.runs, async (plan) => {
      const scene = await open(backend, plan);
      const denied = await denial(scene);
      if (denied === undefined) return;
      const before = await scene.limiter.peek(scene.key, 0);

      await take(scene.limiter, scene.key, denied.cost);

      expect(remainingOf(await scene.limiter.peek(scene.key, 0))).toEqual(remainingOf(before));
    });
  });

  it.each(backends)('an allowed request consumes its cost from each of them, in $name', async (backend) => {
    await forAll(lists, backend.runs, async (plan) => {
      const scene = await open(backend, plan);
      const before = await scene.limiter.peek(scene.key, 0);
      const decision = await take(scene.limiter, scene.key, someCost(scene, before));
      if (!decision.allowed) return;

      // A bucket with overdraft shows whole units, and no debt.
      expect(remainingOf(decision)).toEqual(remainingOf(before).map((units) => Math.max(units - decision.cost, 0)));
    });
  });
});

describe('law 3: over limits with keys of their own', () => {
  it.each(backends)('a denial by one consumes nothing from the others, in $name', async (backend) => {
    const policies = fc.tuple(anyPolicy, anyPolicy, anyPolicy);
    let number = 0;
    await fc.assert(
      fc.asyncProperty(policies, fc.nat(), async ([a, b, c], own) => {
        const clock = fakeClock(START_MS);
        const random = seeded(own);
        const limits = [
          { name: 'a', policy: a },
          { name: 'b', policy: b },
          { name: 'c', policy: c },
        ] as const;
        const limiter = createLimiter({
          name: 'law',
          limits,
          store: backend.store(clock),
          onStoreError: 'throw',
          timeoutMs: 60_000,
        });
        const all = { a: `a-${String(number)}`, b: `b-${String(number)}`, c: `c-${String(number++)}` };

        for (let i = 0; i < 25; i++) {
          const before = await limiter.peek(all, 0);
          clock.atMs = nextInstant(random, clock.atMs, { lastSeen: before.policies, taken: [], mayGoBack: false });
          const some = { a: all.a, c: all.c };
          await take(limiter, random.percent(20) ? some : all, random.integer(1, 3));
          const cost = random.integer(1, 9);
          const shown = await limiter.peek(all, 0);

          const decision = await take(limiter, all, cost);

          const taken = decision.allowed ? cost : 0;
          expect(decision.allowed).toBe(decision.policies.every(({ allowed }) => allowed));
          expect(remainingOf(await limiter.peek(all, 0))).toEqual(
            remainingOf(shown).map((units) => Math.max(units - taken, 0)),
          );
        }
      }),
      { numRuns: cases(Math.max(backend.runs / 10, 3)), seed },
    );
  });
});
