import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { algorithmOf, type AnyAlgorithm } from '@sluice/old-core/spi';
import type { Policy } from '@sluice/old-core';
import { cases, seeded, useRedis, type Random } from '@sluice/testkit';
import { references } from './models/index.ts';
import { START_MS, nextInstant } from '../traces/step.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, scenes, seed, someCost } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];

/** A state with a past, and the end of the window that was charged last. */
interface Charged {
  readonly state: unknown;
  readonly untilMs: number;
  readonly atMs: number;
}

/** Consumes units at random instants, and stops after an allowed request. */
function wander({ kernel, windowMs }: AnyAlgorithm, policy: Policy, random: Random): Charged | undefined {
  let charged: Charged | undefined;
  let state: unknown;
  let atMs = START_MS;
  for (let step = random.integer(1, 20); step > 0 || charged?.atMs !== atMs; step--) {
    if (step < -20) return undefined;
    const shown = kernel(policy, state, 0, atMs);
    const lastSeen = [{ ...shown.verdict, name: 'walk', windowMs: windowMs(policy) }];
    atMs = nextInstant(random, atMs, { lastSeen, taken: [], mayGoBack: true });
    const after = kernel(policy, state, random.pick([1, 1, 2, Math.max(shown.verdict.remaining, 1)]), atMs);
    if (after.state !== state) charged = { state: after.state, untilMs: atMs + after.verdict.resetAfterMs, atMs };
    state = after.state;
  }
  return charged;
}

/** Slots are acquired and not reserved, so they cannot turn out to be more. */
const counting = references.filter(({ algorithm }) => algorithm !== 'concurrency');

describe.each(counting)('charging a state of $algorithm', ({ policies }) => {
  const walks = fc.record({ policy: policies, own: fc.nat() });

  /** Checks a state after a charge, at the instant of its last units or later. */
  function forAllCharged(
    law: (algorithm: AnyAlgorithm, policy: Policy, charged: Charged, random: Random) => void,
  ): void {
    fc.assert(
      fc.property(walks, ({ policy, own }) => {
        const algorithm = algorithmOf(policy);
        const random = seeded(own);
        const charged = wander(algorithm, policy, random);
        if (charged === undefined) return;
        const laterMs = random.pick([0, 0, 1, random.integer(0, Math.min(charged.untilMs - charged.atMs, 1e11))]);
        law(algorithm, policy, { ...charged, atMs: charged.atMs + laterMs }, random);
      }),
      { numRuns: cases(100), seed },
    );
  }

  it('counts exactly that many units more, and a refund restores the state', () => {
    forAllCharged((algorithm, policy, { state, untilMs, atMs }, random) => {
      const { charge, refund, used, kernel, resetAtMs, windowMs } = algorithm;
      const units = random.integer(1, kernel(policy, state, 0, atMs).verdict.limit);
      const usedBefore = used(policy, state, atMs);

      const after = charge(policy, state, units, untilMs, atMs);

      if (atMs >= untilMs && after === state) return; // the window has ended
      // it already counts in part only
      if (algorithm.name === 'slidingCounter' && atMs >= untilMs - windowMs(policy)) return;
      const most = used(policy, charge(policy, state, Number.MAX_SAFE_INTEGER, untilMs, atMs), atMs);
      expect(used(policy, after, atMs)).toBe(Math.min(usedBefore + units, most));
      // removes its oldest instead, or is full
      if (algorithm.name === 'slidingLog' || used(policy, after, atMs) === most) return;
      const back = refund(policy, after, units, resetAtMs(policy, after), atMs);
      expect(kernel(policy, back, 0, atMs).verdict).toEqual(kernel(policy, state, 0, atMs).verdict);
    });
  });

  it('counts as many as it can, and leaves a readable state that expires', () => {
    forAllCharged((algorithm, policy, { state, untilMs, atMs }, random) => {
      const { charge, encode, decode, kernel, resetAtMs } = algorithm;
      let after: unknown = state;
      for (let i = 0; i < 3; i++) {
        const units = random.pick([1, 2 ** 40, 2 ** 52, Number.MAX_SAFE_INTEGER]);
        after = charge(policy, after, units, untilMs, atMs) ?? after;
      }

      const { verdict } = kernel(policy, after, 0, atMs);
      expect(decode(encode(after))).toEqual(after);
      expect(verdict.remaining).toBeLessThanOrEqual(kernel(policy, state, 0, atMs).verdict.remaining);
      expect(Number.isSafeInteger(resetAtMs(policy, after))).toBe(true);
      if (atMs < untilMs) expect(resetAtMs(policy, after)).toBe(atMs + verdict.resetAfterMs);
    });
  });

  it('returns the same state object when it can charge nothing', () => {
    forAllCharged((algorithm, policy, { state, untilMs, atMs }) => {
      const { charge } = algorithm;
      const full = charge(policy, state, Number.MAX_SAFE_INTEGER, untilMs, atMs);
      const fuller = charge(policy, full, Number.MAX_SAFE_INTEGER, untilMs, atMs);

      expect(charge(policy, fuller, Number.MAX_SAFE_INTEGER, untilMs, atMs)).toBe(fuller);
    });
  });
});

/** A log refunds its oldest units, so that other instants are left: see test/sliding-log. */
const undoing = counting.filter(({ algorithm }) => algorithm !== 'slidingLog');

describe.each(undoing)('a reservation under $algorithm', ({ policies }) => {
  const plans = scenes(policies.map((policy) => [policy]));

  it.each(backends)(
    'that is settled at once leaves the state of consuming the actual cost, in $name',
    async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const scene = await open(backend, plan, { clockGoesBack: true });
        const same = await open(backend, plan, { clockGoesBack: true });
        const shown = await scene.limiter.peek(scene.key, 0);
        const [estimate, actual] = [someCost(scene, shown), someCost(scene, shown)];
        const reservation = await scene.limiter.reserve(scene.key, estimate);
        const { allowed } = await same.limiter.consume(same.key, actual);
        if (!allowed || !reservation.decision.allowed) return;

        await reservation.settle(actual);

        expect(await scene.limiter.peek(scene.key, 0)).toEqual(await same.limiter.peek(same.key, 0));
      });
    },
  );
});

describe.each(counting)('a reservation under $algorithm', ({ policies }) => {
  const plans = scenes(policies.map((policy) => [policy]));

  it.each(backends)('that was denied changes nothing when it is settled, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const { limiter, key } = scene;
      const reservation = await limiter.reserve(key, someCost(scene, await limiter.peek(key, 0)));
      if (reservation.decision.allowed) return;
      const before = await limiter.peek(key, 0);

      await reservation.settle(1_000);

      expect(await limiter.peek(key, 0)).toEqual(before);
    });
  });
});

/** A pacing policy can be charged at any time, like a bucket. */
const windowed = counting.filter(
  ({ algorithm, refundable }) => refundable === 'in-window' && algorithm !== 'leakyBucket',
);

describe.each(windowed)('a reservation under $algorithm', ({ policies }) => {
  const plans = scenes(policies.map((policy) => [policy]));

  it.each(backends)('settles nothing once its window has ended, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { edits: false });
      const { limiter, key, clock, random } = scene;
      const { decision, settle } = await limiter.reserve(key, someCost(scene, await limiter.peek(key, 0)));
      if (!decision.allowed) return;
      clock.atMs += decision.resetAfterMs + random.pick([0, 0, 1, random.integer(0, 1_000_000)]);
      await limiter.consume(key, 1);
      const before = await limiter.peek(key, 0);

      await settle(decision.cost + random.pick([-1, 1, 1000]));

      expect(await limiter.peek(key, 0)).toEqual(before);
    });
  });
});
