import { describe, expect, it } from '@jest/globals';
import { useRedis, take } from '@sluice/testkit';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, allSceneKinds, countsDenied, someCost } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];

describe.each(allSceneKinds)('law 4, $kind: a peek', ({ plans }) => {
  it.each(backends)('agrees with the consume that follows it at the same instant, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const cost = someCost(scene, await scene.limiter.peek(scene.key, 0));

      const peeked = await scene.limiter.peek(scene.key, cost);
      const peekedAgain = await scene.limiter.peek(scene.key, cost);
      const consumed = await take(scene.limiter, scene.key, cost);

      expect(peekedAgain).toEqual(peeked);
      const { allowed, outcome, policy, limit, delayMs, retryAfterMs } = peeked;
      expect(consumed).toMatchObject({ allowed, outcome, policy, limit, delayMs, retryAfterMs });
      if (!allowed && countsDenied(plan)) return;
      // A denial changes nothing; an allowed request changes what it consumed.
      const left = peeked.policies.map((one) => ({
        remaining: allowed ? Math.max(one.remaining - cost, 0) : one.remaining,
        limit: one.limit,
        name: one.name,
      }));
      expect(consumed.policies).toMatchObject(left);
      expect(allowed ? null : consumed).toEqual(allowed ? null : peeked);
    });
  });

  it.each(backends)('reports in remaining exactly what would be allowed, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const { limiter, key } = await open(backend, plan, { clockGoesBack: true });
      const { outcome, remaining } = await limiter.peek(key, 0);
      const overdraft = plan.policies.some((policy) => 'overdraft' in policy && policy.overdraft > 0);

      const allowsAll = (await limiter.peek(key, Math.max(remaining, 1))).allowed;
      const allowsMore = (await limiter.peek(key, remaining + 1)).allowed;

      expect(allowsAll).toBe(remaining > 0);
      // With overdraft one available unit allows a larger cost.
      expect(allowsMore && !overdraft).toBe(false);
      expect(outcome === 'blocked' && remaining > 0).toBe(false);
    });
  });

  it.each(backends)(
    'reports in nextAfterMs when one more unit is available, to the millisecond, in $name',
    async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const { limiter, key, clock } = await open(backend, plan, { clockGoesBack: true, edits: false });
        const { atMs, policies } = await limiter.peek(key, 0);

        for (const [i, { remaining, limit, nextAfterMs }] of policies.entries()) {
          if (plan.policies[i]?.algorithm === 'concurrency') continue; // depends on when a slot is released
          expect(nextAfterMs === null).toBe(remaining === limit);
          if (nextAfterMs === null) continue;
          clock.atMs = atMs + nextAfterMs - 1;
          expect((await limiter.peek(key, 0)).policies[i]?.remaining).toBe(remaining);
          clock.atMs = atMs + nextAfterMs;
          expect((await limiter.peek(key, 0)).policies[i]?.remaining).toBeGreaterThan(remaining);
        }
      });
    },
  );
});
