import { describe, expect, it } from '@jest/globals';
import type { Decision } from '@sluice/old-core';
import { useRedis, take } from '@sluice/testkit';
import { references } from './models/index.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { type Scene, forAll, open, scenes, someCost } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];

/** An allowed request after the scene's past, if one is possible. */
async function admission(scene: Scene): Promise<Decision | undefined> {
  for (let attempt = 0; attempt < 8; attempt++) {
    const cost = someCost(scene, await scene.limiter.peek(scene.key, 0));
    const decision = await take(scene.limiter, scene.key, cost);
    if (decision.allowed) return decision;
  }
  return undefined;
}

describe.each(references)('a refund of units of $algorithm', ({ policies }) => {
  const plans = scenes(policies.map((policy) => [policy]));

  it.each(backends)('at once restores the remaining units, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const { limiter, key } = scene;
      const before = await limiter.peek(key, 0);
      const decision = await take(limiter, key, someCost(scene, before));

      await limiter.refund(decision);

      expect((await limiter.peek(key, 0)).remaining).toBe(before.remaining);
    });
  });

  it.each(backends)(
    'at any later time returns at most the consumed units, and never exceeds the limit, in $name',
    async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const scene = await open(backend, plan, { edits: false });
        const { limiter, key, clock, random } = scene;
        const decision = await admission(scene);
        if (decision === undefined) return;
        clock.atMs += random.integer(0, Math.min(2 * decision.resetAfterMs, 1e11));
        await take(limiter, key, 1);
        const before = await limiter.peek(key, 0);

        await limiter.refund(decision);

        const { remaining, limit } = await limiter.peek(key, 0);
        expect(remaining).toBeLessThanOrEqual(limit);
        expect(remaining - before.remaining).toBeLessThanOrEqual(decision.cost);
        expect(remaining).toBeGreaterThanOrEqual(before.remaining);
      });
    },
  );

  it.each(backends)('happens once for each decision, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan);
      const { limiter, key } = scene;
      const decision = await admission(scene);
      if (decision === undefined) return;
      await limiter.refund(decision, 1);
      const before = await limiter.peek(key, 0);

      await limiter.refund(decision, 1);
      await limiter.refund(decision);

      expect(await limiter.peek(key, 0)).toEqual(before);
    });
  });
});

const windowed = references.filter(({ refundable }) => refundable === 'in-window');

describe.each(windowed)('a refund of units of $algorithm', ({ policies }) => {
  const plans = scenes(policies.map((policy) => [policy]));

  it.each(backends)('does nothing once the charged window has ended, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { edits: false });
      const { limiter, key, clock, random } = scene;
      const decision = await admission(scene);
      if (decision === undefined) return;
      clock.atMs += decision.resetAfterMs + random.pick([0, 0, 1, random.integer(0, 1_000_000)]);
      await take(limiter, key, 1);
      const before = await limiter.peek(key, 0);

      await limiter.refund(decision);

      expect(await limiter.peek(key, 0)).toEqual(before);
    });
  });
});
