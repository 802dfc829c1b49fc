import { describe, expect, it } from '@jest/globals';
import { useRedis } from '@sluice/testkit';
import { kernels, memory, redisGround } from './grounds.ts';
import { forAll, open, allSceneKinds, someCost, take } from './scene.ts';

const redis = useRedis();

const grounds = [kernels, memory, redisGround(redis)];

describe.each(allSceneKinds)('law 4, $kind: a peek', ({ plans }) => {
  it.each(grounds)('agrees with the consume that follows it at the same instant, in $name', async (ground) => {
    await forAll(plans, ground.runs, async (plan) => {
      const scene = await open(ground, plan, { goesBack: true });
      const cost = someCost(scene, await scene.limiter.peek(scene.key, 0));

      const peeked = await scene.limiter.peek(scene.key, cost);
      const peekedAgain = await scene.limiter.peek(scene.key, cost);
      const consumed = await take(scene.limiter, scene.key, cost);

      expect(peekedAgain).toEqual(peeked);
      const { allowed, outcome, policy, limit, delayMs, retryAfterMs } = peeked;
      expect(consumed).toMatchObject({ allowed, outcome, policy, limit, delayMs, retryAfterMs });
      // When refused nothing differs, when allowed what was taken.
      const left = peeked.policies.map((one) => ({
        remaining: allowed ? Math.max(one.remaining - cost, 0) : one.remaining,
        limit: one.limit,
        name: one.name,
      }));
      expect(consumed.policies).toMatchObject(left);
      expect(allowed ? null : consumed).toEqual(allowed ? null : peeked);
    });
  });

  it.each(grounds)('shows in remaining what would be admitted, and not one unit more, in $name', async (ground) => {
    await forAll(plans, ground.runs, async (plan) => {
      const { limiter, key } = await open(ground, plan, { goesBack: true });
      const { outcome, remaining } = await limiter.peek(key, 0);
      const overdraft = plan.policies.some((policy) => 'overdraft' in policy && policy.overdraft > 0);

      const admitsAll = (await limiter.peek(key, Math.max(remaining, 1))).allowed;
      const admitsMore = (await limiter.peek(key, remaining + 1)).allowed;

      expect(admitsAll).toBe(remaining > 0);
      // With overdraft one unit that is there admits more than itself.
      expect(admitsMore && !overdraft).toBe(false);
      expect(outcome === 'blocked' && remaining > 0).toBe(false);
    });
  });

  it.each(grounds)(
    'shows in nextAfterMs when one more unit can be had, to the millisecond, in $name',
    async (ground) => {
      await forAll(plans, ground.runs, async (plan) => {
        const { limiter, key, clock } = await open(ground, plan, { goesBack: true, edits: false });
        const { atMs, policies } = await limiter.peek(key, 0);

        for (const [i, { remaining, limit, nextAfterMs }] of policies.entries()) {
          if (plan.policies[i]?.algorithm === 'concurrency') continue; // when somebody releases one, which nobody knows
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
