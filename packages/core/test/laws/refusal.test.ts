import { describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore } from '@sluice/core';
import { fakeClock, useRedis, virtualRedisStore } from '@sluice/testkit';
import { kernels, memory, redisGround } from './grounds.ts';
import { forAll, open, refusal, sceneKinds, take } from './scene.ts';

const redis = useRedis();

/** Every key with its value and its expiry. */
/** Of any type. */
const bytesOf = async (key: string): Promise<string> => (await redis.admin.dumpBuffer(key)).toString('hex');

async function contents(): Promise<unknown> {
  const keys = (await redis.admin.keys('*')).sort();
  return Promise.all(keys.map(async (key) => [key, await bytesOf(key), await redis.admin.pexpiretime(key)]));
}

describe.each(sceneKinds)('law 1, $kind: a refusal', ({ plans }) => {
  it.each([kernels, memory])('leaves everything as it was in $name', async (ground) => {
    await forAll(plans, ground.runs, async (plan) => {
      const scene = await open(ground, plan, { goesBack: true });
      const refused = await refusal(scene);
      const before = await scene.limiter.peek(scene.key, 0);

      await take(scene.limiter, scene.key, refused?.cost ?? 0);

      expect(await scene.limiter.peek(scene.key, 0)).toEqual(before);
    });
  });

  it('leaves value and expiry as they were in Redis', async () => {
    const ground = redisGround(redis);
    await forAll(plans, ground.runs, async (plan) => {
      await redis.admin.flushall();
      const scene = await open(ground, plan, { goesBack: true });
      const refused = await refusal(scene);
      const before = await contents();

      await take(scene.limiter, scene.key, refused?.cost ?? 0);
      await scene.limiter.peek(scene.key, refused?.cost ?? 0);

      expect(await contents()).toEqual(before);
    });
  });

  it('of a key that was never used creates no key', async () => {
    await forAll(plans, 20, async ({ policies }) => {
      await redis.admin.flushall();
      const clock = fakeClock();
      const policy = policies.map((one, i) => ({ ...one, name: `p${String(i)}` }));
      const store = memoryStore({ clock });

      for (const where of [store, virtualRedisStore(redis.client, clock)]) {
        const { allowed } = await take(createLimiter({ policy, store: where }), 'new', Number.MAX_SAFE_INTEGER);
        expect(allowed).toBe(false);
      }

      expect([store.size, await redis.admin.dbsize()]).toEqual([0, 0]);
    });
  });
});
