import { describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { retryOf, modelled } from '../models/verdict.ts';
import { kernels, memory, redisGround } from './grounds.ts';
import { forAll, open, refusal, sceneKinds, take } from './scene.ts';

const redis = useRedis();

const grounds = [kernels, memory, redisGround(redis)];

describe.each(sceneKinds)('law 2, $kind: what was refused', ({ plans }) => {
  it.each(grounds)('is admitted after retryAfterMs, and at no earlier millisecond, in $name', async (ground) => {
    await forAll(plans, ground.runs, async (plan) => {
      const scene = await open(ground, plan, { goesBack: true });
      const refused = await refusal(scene);
      if (refused?.decision.retryAfterMs == null) return;
      const { cost, decision } = refused;
      const waitMs = decision.retryAfterMs as number;
      const admittedAfter = async (ms: number): Promise<boolean> => {
        scene.clock.atMs = decision.atMs + ms;
        return (await scene.limiter.peek(scene.key, cost)).allowed;
      };

      expect(waitMs).toBeGreaterThan(0);
      expect(await admittedAfter(waitMs - 1)).toBe(false);
      for (let i = 0; i < 5; i++) expect(await admittedAfter(scene.random.integer(0, waitMs - 1))).toBe(false);
      expect(await admittedAfter(waitMs)).toBe(true);
      expect(await take(scene.limiter, scene.key, cost)).toMatchObject({ allowed: true, retryAfterMs: 0 });
    });
  });

  it.each(grounds)('has no retryAfterMs exactly when an unused key would refuse it too, in $name', async (ground) => {
    await forAll(plans, ground.runs, async (plan) => {
      const scene = await open(ground, plan, { goesBack: true });
      const refused = await refusal(scene);
      if (refused === undefined) return;

      const canNever = plan.policies.some(
        (policy) => retryOf(modelled('law', policy), BigInt(refused.cost), 1n) === null,
      );
      expect(refused.decision.retryAfterMs === null).toBe(canNever);
    });
  });

  it.each(grounds)('waits as long as the policy that needs longest, in $name', async (ground) => {
    await forAll(plans, ground.runs, async (plan) => {
      const refused = await refusal(await open(ground, plan));
      if (refused === undefined) return;
      const { retryAfterMs, policies } = refused.decision;

      const waits = policies.map((one) => one.retryAfterMs ?? Infinity);
      expect(retryAfterMs ?? Infinity).toBe(Math.max(...waits));
    });
  });
});
