import { describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { references } from './models/index.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, scenes, sceneKindsThatCount, someCost } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];

describe.each(sceneKindsThatCount)('law 5, $kind: time', ({ plans }) => {
  it.each(backends)('a: what is allowed now is allowed at every later instant, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const { atMs, allowed, cost, policies } = await scene.limiter.peek(
        scene.key,
        someCost(scene, await scene.limiter.peek(scene.key, 0)),
      );
      if (!allowed) return;

      for (let i = 0; i < 12; i++) {
        scene.clock.atMs =
          atMs + scene.random.pick([i, scene.random.integer(0, Math.min(policies[0]?.windowMs ?? 0, 1e11) * 3)]);
        expect((await scene.limiter.peek(scene.key, cost)).allowed).toBe(true);
      }
    });
  });

  it.each(backends)('c: a step back lengthens a wait by at most the step, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const { limiter, key, clock, random } = scene;
      const before = await limiter.peek(key, someCost(scene, await limiter.peek(key, 0)));
      if (before.retryAfterMs === null) return;

      const backMs = random.integer(1, Math.min(before.policies[0]?.windowMs ?? 1, 1e11) * 2);
      clock.atMs = before.atMs - backMs;

      const { retryAfterMs } = await limiter.peek(key, before.cost);
      expect(retryAfterMs as number).toBeLessThanOrEqual(before.retryAfterMs + backMs);
    });
  });
});

describe.each(references)(
  'law 5 b, $algorithm: the bound of design.md §5 holds in every interval',
  ({ policies, most }) => {
    const plans = scenes(
      policies.map((policy) => [policy]),
      120,
    );

    /** Checks all intervals that begin and end with an event; the instant of each is the largest seen so far. */
    function expectWithinBound(
      events: readonly { atMs: number; units: number }[],
      bound: (spanMs: bigint) => bigint,
    ): void {
      let latestMs = 0;
      const unitsAt = new Map<number, bigint>();
      for (const { atMs, units } of events) {
        latestMs = Math.max(latestMs, atMs);
        unitsAt.set(latestMs, (unitsAt.get(latestMs) ?? 0n) + BigInt(units));
      }
      const instants = [...unitsAt.keys()];
      const overruns = instants.flatMap((fromMs, i) => {
        let sum = 0n;
        return instants.slice(i).filter((toMs) => (sum += unitsAt.get(toMs) ?? 0n) > bound(BigInt(toMs - fromMs)));
      });
      expect(overruns).toEqual([]);
    }

    it.each(backends)('of a clock that runs on, in $name', async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const { events } = await open(backend, plan, { refunds: false, charges: false, edits: false });

        expectWithinBound(events, (spanMs) => most(plan.policies[0] as never, spanMs, false));
      });
    });

    it.each(backends)('of the largest instant seen, when the clock goes back, in $name', async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const { events } = await open(backend, plan, {
          clockGoesBack: true,
          refunds: false,
          charges: false,
          edits: false,
        });

        expectWithinBound(events, (spanMs) => most(plan.policies[0] as never, spanMs, false));
      });
    });

    it.each(backends)('with refunded units counted as negative, in $name', async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const { events } = await open(backend, plan, { charges: false, edits: false });

        expectWithinBound(events, (spanMs) => most(plan.policies[0] as never, spanMs, true));
      });
    });
  },
);
