import { describe, expect, it } from '@jest/globals';
import { useRedis, take } from '@sluice/testkit';
import { retryOf, modelled } from './models/verdict.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, denial, sceneKindsThatCount } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];

describe.each(sceneKindsThatCount)('law 2, $kind: a denied request', ({ plans }) => {
  it.each(backends)('is allowed after retryAfterMs, and at no earlier millisecond, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const denied = await denial(scene);
      if (denied?.decision.retryAfterMs == null) return;
      const { cost, decision } = denied;
      const waitMs = decision.retryAfterMs as number;
      const allowedAfter = async (ms: number): Promise<boolean> => {
        scene.clock.atMs = decision.atMs + ms;
        return (await scene.limiter.peek(scene.key, cost)).allowed;
      };

      expect(waitMs).toBeGreaterThan(0);
      expect(await allowedAfter(waitMs - 1)).toBe(false);
      for (let i = 0; i < 5; i++) expect(await allowedAfter(scene.random.integer(0, waitMs - 1))).toBe(false);
      expect(await allowedAfter(waitMs)).toBe(true);
      expect(await take(scene.limiter, scene.key, cost)).toMatchObject({ allowed: true, retryAfterMs: 0 });
    });
  });

  it.each(backends)('has no retryAfterMs exactly when an unused key would deny it too, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const denied = await denial(scene);
      if (denied === undefined) return;

      const canNever = plan.policies.some(
        (policy) => retryOf(modelled('law', policy), BigInt(denied.cost), 1n) === null,
      );
      expect(denied.decision.retryAfterMs === null).toBe(canNever);
    });
  });

  it.each(backends)('waits as long as the policy that needs longest, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const denied = await denial(await open(backend, plan));
      if (denied === undefined) return;
      const { retryAfterMs, policies } = denied.decision;

      const waits = policies.map((one) => one.retryAfterMs ?? Infinity);
      expect(retryAfterMs ?? Infinity).toBe(Math.max(...waits));
    });
  });
});
