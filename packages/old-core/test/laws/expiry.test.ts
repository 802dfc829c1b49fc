import { describe, expect, it } from '@jest/globals';
import { useRedis, take } from '@sluice/testkit';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, allSceneKinds, someCost } from './scene.ts';

const redis = useRedis();
/** In the key of a refund's identity, which holds no state. */
const IDENTITY = ':~';

const inRedis = redisBackend(redis);

describe.each(allSceneKinds)('law 6, $kind: expiry', ({ plans }) => {
  it('comes soon after the key is as if never used and not blocked, and not before', async () => {
    await forAll(plans, 20, async (plan) => {
      const { limiter, key } = await open(inRedis, plan, { clockGoesBack: true });
      const { atMs, resetAfterMs, policies } = await limiter.peek(key, 0);
      const [name] = (await redis.admin.keys(`sluice:{${key}}*`)).filter((found) => !found.includes(IDENTITY));
      const expireAtMs = name === undefined ? undefined : await redis.admin.pexpiretime(name);

      // A block of a slidingWindow expires as a whole.
      const blocksMs = plan.policies.map((policy) => (policy.algorithm === 'slidingWindow' ? policy.precisionMs : 0));
      const longestMs = Math.max(60_000, ...policies.map(({ windowMs }) => windowMs)) + Math.max(...blocksMs);
      const resetAtMs = atMs + resetAfterMs;
      const [least, most] = resetAfterMs > 0 ? [resetAtMs, resetAtMs + longestMs] : [0, atMs + longestMs];
      expect(expireAtMs ?? least).toBeGreaterThanOrEqual(least);
      expect(expireAtMs ?? least).toBeLessThanOrEqual(most);
      expect(resetAfterMs > 0 && expireAtMs === undefined).toBe(false);
    });
  });

  it.each([kernels, memory, inRedis])(
    'cannot be observed: from resetAfterMs on a key decides like an unused one, in $name',
    async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const scene = await open(backend, plan, { clockGoesBack: true });
        const { limiter, key, clock, random } = scene;
        const { atMs, resetAfterMs } = await limiter.peek(key, 0);

        clock.atMs = atMs + resetAfterMs + random.pick([0, 0, 0, 1, random.integer(0, 1_000_000)]);
        for (let i = 0; i < 6; i++) {
          const cost = i === 0 ? 0 : someCost(scene, await limiter.peek(key, 0));
          expect(await take(limiter, key, cost)).toEqual(await take(limiter, `unused ${key}`, cost));
          clock.atMs += random.integer(0, 3);
        }
      });
    },
  );

  it.each([kernels, memory])(
    'cannot come earlier: a millisecond before resetAfterMs the past still has an effect, in $name',
    async (backend) => {
      await forAll(plans, backend.runs, async (plan) => {
        const { limiter, key, clock } = await open(backend, plan, { clockGoesBack: true });
        const { atMs, resetAfterMs } = await limiter.peek(key, 0);
        if (resetAfterMs === 0) return;

        clock.atMs = atMs + resetAfterMs - 1;

        expect(await limiter.peek(key, 0)).not.toEqual(await limiter.peek('unused', 0));
      });
    },
  );
});
