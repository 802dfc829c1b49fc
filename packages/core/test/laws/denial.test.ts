import { describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore } from '@sluice/core';
import { fakeClock, useRedis, virtualRedisStore } from '@sluice/testkit';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, denial, sceneKinds, take } from './scene.ts';

const redis = useRedis();

/** Every key with its value and its expiry. */
/** Of any type. */
const bytesOf = async (key: string): Promise<string> => (await redis.admin.dumpBuffer(key)).toString('hex');

async function contents(): Promise<unknown> {
  const keys = (await redis.admin.keys('*')).sort();
  return Promise.all(keys.map(async (key) => [key, await bytesOf(key), await redis.admin.pexpiretime(key)]));
}

describe.each(sceneKinds)('law 1, $kind: a denial', ({ plans }) => {
  it.each([kernels, memory])('changes nothing in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const denied = await denial(scene);
      const before = await scene.limiter.peek(scene.key, 0);

      await take(scene.limiter, scene.key, denied?.cost ?? 0);

      expect(await scene.limiter.peek(scene.key, 0)).toEqual(before);
    });
  });

  it('changes neither value nor expiry in Redis', async () => {
    const backend = redisBackend(redis);
    await forAll(plans, backend.runs, async (plan) => {
      await redis.admin.flushall();
      const scene = await open(backend, plan, { clockGoesBack: true });
      const denied = await denial(scene);
      const before = await contents();

      await take(scene.limiter, scene.key, denied?.cost ?? 0);
      await scene.limiter.peek(scene.key, denied?.cost ?? 0);

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
