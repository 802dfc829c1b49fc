import { describe, expect, it } from '@jest/globals';
import { escalate, memoryStore, type StoreAnswer, type StoreRequest } from '@sluice/old-core';
import { keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { fakeClock, useRedis, take } from '@sluice/testkit';
import { START_MS } from '../traces/step.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { escalatedScenes, forAll, limiterOf, open, denial, someCost } from './scene.ts';

const redis = useRedis();

const inRedis = redisBackend(redis);
const backends = [kernels, memory, inRedis];

/** The key of a subject: not those of its details, whose names are longer. */
async function nameOf(key: string): Promise<string | undefined> {
  const names = await redis.admin.keys(`sluice:{${key}}*`);
  return names.sort((a, b) => a.length - b.length)[0];
}

/** Of a key's value in Redis: the states of its policies. */
async function statesOf(key: string): Promise<string | undefined> {
  const name = await nameOf(key);
  const value = name === undefined ? null : await redis.admin.get(name);
  return value?.replace(/^(?:!\d+!)?(?:\^[\d:]+\^)?/, '');
}

describe('where denials are counted, law 1: a denial', () => {
  it.each(backends)('does not change the states of the policies, in $name', async (backend) => {
    await forAll(escalatedScenes, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true });
      const { limiter, key } = scene;
      await limiter.unblock(key);
      const { policies: before } = await limiter.peek(key, 0);

      await take(limiter, key, Number.MAX_SAFE_INTEGER);
      await limiter.unblock(key);

      expect((await limiter.peek(key, 0)).policies).toEqual(before);
    });
  });

  it('does not change their bytes in Redis', async () => {
    await forAll(escalatedScenes, inRedis.runs, async (plan) => {
      const scene = await open(inRedis, plan, { clockGoesBack: true });
      const denied = await denial(scene);
      const before = await statesOf(scene.key);

      await take(scene.limiter, scene.key, denied?.cost ?? Number.MAX_SAFE_INTEGER);

      expect((await statesOf(scene.key)) ?? '').toBe(before ?? '');
    });
  });

  it.each(backends)('while the key is blocked writes nothing, in $name', async (backend) => {
    await forAll(escalatedScenes, backend.runs, async (plan) => {
      const scene = await open(backend, plan);
      const { limiter, key } = scene;
      for (let i = 0; i < 4; i++) await take(limiter, key, Number.MAX_SAFE_INTEGER);
      const blocked = await limiter.peek(key, 0);

      for (let i = 0; i < 5; i++) await take(limiter, key, someCost(scene, blocked));

      expect(blocked.outcome).toBe('blocked');
      expect(await limiter.peek(key, 0)).toEqual(blocked);
    });
  });
});

describe('where denials are counted', () => {
  it.each(backends)('a peek reports the denial that the next consume returns, in $name', async (backend) => {
    await forAll(escalatedScenes, backend.runs, async (plan) => {
      const { limiter, key } = await open(backend, plan, { clockGoesBack: true });

      for (let i = 0; i < 5; i++) {
        const peeked = await limiter.peek(key, Number.MAX_SAFE_INTEGER);
        expect(await take(limiter, key, Number.MAX_SAFE_INTEGER)).toEqual(peeked);
      }
    });
  });

  it.each(backends)('retryAfterMs is the wait after which the cost is allowed, in $name', async (backend) => {
    await forAll(escalatedScenes, backend.runs, async (plan) => {
      const scene = await open(backend, plan);
      const { limiter, key, clock } = scene;
      const denied = await denial(scene);
      if (denied === undefined || denied.decision.retryAfterMs === null) return;

      clock.atMs += denied.decision.retryAfterMs - 1;
      const early = await limiter.peek(key, denied.cost);
      clock.atMs += 1;

      expect(early.allowed).toBe(false);
      expect((await take(limiter, key, denied.cost)).allowed).toBe(true);
    });
  });

  it('a limiter without escalation keeps the denial count of another one, and is blocked by it', async () => {
    await forAll(escalatedScenes, inRedis.runs, async (plan) => {
      const scene = await open(inRedis, plan);
      const { store, key, limiter, clock } = scene;
      await limiter.unblock(key);
      await take(limiter, key, Number.MAX_SAFE_INTEGER);
      const counted = await limiter.peek(key, 0);
      const plain = limiterOf(plan.policies, store);

      const without = await plain.peek(key, 0);
      await take(plain, key, Number.MAX_SAFE_INTEGER);
      await take(plain, key, 1);

      const after = await limiter.peek(key, 0);
      expect(without.outcome).toBe(counted.outcome);
      expect(after.outcome).toBe(counted.outcome);
      expect(after.resetAfterMs).toBeGreaterThanOrEqual(counted.resetAfterMs);
      clock.atMs += after.resetAfterMs;
      expect((await limiter.peek(key, 0)).resetAfterMs).toBe(0);
    });
  });

  it.each(backends)('a request counts once, however many of its parts one key denies, in $name', async (backend) => {
    let nth = 0;
    await forAll(escalatedScenes, 10, async ({ policies }) => {
      const named = namePolicies(
        policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` })),
        'twice',
      );
      const escalation = escalate({ after: 2, block: 1_000, decay: 1_000 });
      const limit = { policies: named, keySuffix: keySuffixOf('twice', named), escalation };
      const part = { limit, subject: `twice-${String(nth++)}`, cost: Number.MAX_SAFE_INTEGER };
      const store = backend.store(fakeClock(START_MS));

      const requests = [1, 2, 3].map((): StoreRequest => ({ op: 'consume', parts: [part, part] }));
      const answers = (await store.perform(requests)) as readonly StoreAnswer[];

      expect(answers.map(({ parts }) => parts.map(({ blocked }) => blocked))).toEqual([
        [false, false],
        [true, true],
        [true, true],
      ]);
    });
  });

  it('costs nothing without a denial: a key that was never denied is stored as without escalation', async () => {
    await forAll(escalatedScenes, 20, async ({ policies, escalation }) => {
      const clock = fakeClock();
      const stores = [memoryStore({ clock }), memoryStore({ clock })] as const;
      const [escalated, plain] = [limiterOf(policies, stores[0], escalation), limiterOf(policies, stores[1])];

      const [counted, without] = [await take(escalated, 'key'), await take(plain, 'key')];

      expect(counted).toEqual(without);
    });
  });
});
