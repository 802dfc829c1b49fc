import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createLimiter, memoryStore, slidingWindow, type Duration, type Limiter, type Policy } from '@sluice/old-core';
import { cases, fakeClock, useRedis, take } from '@sluice/testkit';
import { references } from './models/index.ts';
import { kernels, memory, redisBackend } from './backends.ts';
import { type Scene, type ScenePlan, limiterOf, open, denial, scenes, seed } from './scene.ts';

const redis = useRedis();
/** In the key of a refund's identity, which holds no state. */
const IDENTITY = ':~';

const backends = [kernels, memory, redisBackend(redis)];
/** Longer waits, of a huge state under a slow policy, are not exact integers of milliseconds. */
const LONGEST_EXACT_MS = 2 ** 50;

describe.each(references)('a key of $algorithm whose policy has changed its numbers', ({ policies }) => {
  const changes = fc.tuple(scenes(policies.map((policy) => [policy])), policies);

  async function afterChange(
    [plan, policy]: readonly [ScenePlan, Policy],
    backend: (typeof backends)[number],
  ): Promise<Scene> {
    const scene = await open(backend, plan, { clockGoesBack: true });
    return { ...scene, limiter: limiterOf([policy], scene.store) };
  }

  it.each(backends)('keeps the retry law, in $name', async (backend) => {
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        const { limiter, key, clock, ...scene } = await afterChange(change, backend);
        const denied = await denial({ limiter, key, clock, ...scene });
        const { retryAfterMs } = denied?.decision ?? { retryAfterMs: null };
        if (denied === undefined || retryAfterMs === null || retryAfterMs > LONGEST_EXACT_MS) return;

        clock.atMs = denied.decision.atMs + retryAfterMs - 1;
        expect((await limiter.peek(key, denied.cost)).allowed).toBe(false);
        clock.atMs++;
        expect((await take(limiter, key, denied.cost)).allowed).toBe(true);
      }),
      { numRuns: cases(backend.runs), seed },
    );
  });

  it.each(backends)('is as if never used from resetAfterMs on, in $name', async (backend) => {
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        const { limiter, key, clock } = await afterChange(change, backend);
        const { atMs, remaining, resetAfterMs } = await limiter.peek(key, 0);
        expect(remaining).toBeGreaterThanOrEqual(0);
        if (resetAfterMs > LONGEST_EXACT_MS) return;

        clock.atMs = atMs + resetAfterMs;

        expect(await take(limiter, key, 0)).toEqual(await take(limiter, `unused ${key}`, 0));
        expect(await take(limiter, key, 1)).toEqual(await take(limiter, `unused ${key}`, 1));
      }),
      { numRuns: cases(backend.runs), seed },
    );
  });

  it.each(backends)('is as if never used after a reset, in $name', async (backend) => {
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        const { limiter, key } = await afterChange(change, backend);
        await limiter.unblock(key);

        await limiter.reset(key);

        expect(await take(limiter, key, 1)).toEqual(await take(limiter, `unused ${key}`, 1));
      }),
      { numRuns: cases(Math.max(backend.runs / 5, 5)), seed },
    );
  });

  it('does not expire in Redis before its resetAfterMs, when it is written again', async () => {
    await fc.assert(
      fc.asyncProperty(changes, async (change) => {
        const { limiter, key } = await afterChange(change, redisBackend(redis));
        await limiter.block(key, 1);
        const { atMs, resetAfterMs } = await limiter.peek(key, 0);
        const [name = ''] = (await redis.admin.keys(`sluice:{${key}}*`)).filter((found) => !found.includes(IDENTITY));

        if (resetAfterMs <= LONGEST_EXACT_MS) {
          expect(await redis.admin.pexpiretime(name)).toBeGreaterThanOrEqual(atMs + resetAfterMs);
        }
      }),
      { numRuns: cases(20), seed },
    );
  });
});

describe('a slidingWindow whose blocks have become shorter', () => {
  it.each(backends)('still allows no more than its limit in any window, in $name', async (backend) => {
    const before = slidingWindow({ limit: 1, window: '10s', precision: '1s' });
    const after = slidingWindow({ limit: 1, window: '1s', precision: 100 });
    const scene = await open(backend, { policies: [before], steps: 0, seed });
    const limiter = limiterOf([after], scene.store);
    scene.clock.advance(1_999);
    await take(scene.limiter, scene.key);

    scene.clock.advance(999);
    expect(await take(limiter, scene.key)).toMatchObject({ allowed: false, retryAfterMs: 1 });
    scene.clock.advance(1);
    expect((await take(limiter, scene.key)).allowed).toBe(true);
  });
});

describe('two processes with windows of different lengths on one key', () => {
  it.each([
    ['1h', '59m'],
    ['1h', 3_599_000],
    ['60s', '61s'],
  ] as const)('do not push its units into the future: %s and %s', async (one, other) => {
    const clock = fakeClock();
    const store = memoryStore({ clock });
    const withWindow = (window: Duration): Limiter =>
      createLimiter({ name: 'api', shared: true, policy: slidingWindow({ limit: 1_000, window }), store });
    const processes = [withWindow(one), withWindow(other)];

    for (let i = 0; i < 500; i++) for (const limiter of processes) await take(limiter, 'key');

    for (const limiter of processes) {
      const { retryAfterMs, policies } = await take(limiter, 'key');
      const windowMs = policies[0]?.windowMs ?? 0;
      // A window, and the block in which the units were consumed.
      expect(retryAfterMs).toBeLessThanOrEqual(windowMs + Math.ceil(windowMs / 10));
    }
  });
});
