import { describe, expect, it } from '@jest/globals';
import { createLimiter, memoryStore, type Policy } from '@sluice/old-core';
import { fakeClock, useRedis, virtualRedisStore, take } from '@sluice/testkit';
import { kernels, memory, redisBackend } from './backends.ts';
import { countingScenes, forAll, open, denial, sceneKinds } from './scene.ts';

const redis = useRedis();

/** A value of any type, as DUMP writes it. */
const bytesOf = async (key: string): Promise<string> => (await redis.admin.dumpBuffer(key)).toString('hex');

/** Every key with its value and its expiry. */
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

      for (const where of [store, virtualRedisStore(redis.client, clock, { prefix: 'sluice' })]) {
        const { allowed } = await take(createLimiter({ policy, store: where }), 'new', Number.MAX_SAFE_INTEGER);
        expect(allowed).toBe(false);
      }

      expect([store.size, await redis.admin.dbsize()]).toEqual([0, 0]);
    });
  });
});

describe('law 1, a policy that counts what it denies: a denial', () => {
  it.each([kernels, memory, redisBackend(redis)])(
    'adds its cost to what that policy has used, and changes nothing else, in $name',
    async (backend) => {
      await forAll(countingScenes, backend.runs, async (plan) => {
        const { limiter, key, clock, random } = await open(backend, plan, { clockGoesBack: true });
        const before = await limiter.peek(key, 0);
        const { limit } = random.pick(before.policies as [(typeof before.policies)[0]]);
        const cost = random.pick([1, 2, limit + 1, 2 ** 52]);

        const denied = await take(limiter, key, cost);
        if (denied.allowed) return;

        const after = await limiter.peek(key, 0);
        const expected = before.policies.map((one, j) => {
          const policy = plan.policies[j] as Policy;
          const counts = policy.algorithm === 'fixedWindow' && policy.countDenied === true;
          const deniesItself = denied.outcome !== 'blocked' && denied.policies[j]?.allowed === false;
          if (!counts || !deniesItself) return one;
          const used = Math.min(one.used + cost, 2 ** 52);
          const opens = policy.align === 'clock' ? policy.windowMs - (clock.atMs % policy.windowMs) : policy.windowMs;
          const resetAfterMs = one.resetAfterMs > 0 ? one.resetAfterMs : opens;
          const nextAfterMs = one.limit === 0 ? null : resetAfterMs;
          return { ...one, used, remaining: Math.max(one.limit - used, 0), resetAfterMs, nextAfterMs };
        });
        expect(after.policies).toEqual(expected);
        expect(denied.policies.map(({ used }) => used)).toEqual(expected.map(({ used }) => used));
      });
    },
  );
});
