import { describe, expect, it } from '@jest/globals';
import type { Decision } from '@sluice/old-core';
import { encodeSubject, keySuffixOf, namePolicies } from '@sluice/old-core/spi';
import { useRedis } from '@sluice/testkit';
import { kernels, memory, redisBackend } from './backends.ts';
import { forAll, open, sceneKinds, type Scene, type ScenePlan } from './scene.ts';

const redis = useRedis();

const backends = [kernels, memory, redisBackend(redis)];

/**
 * Heals the key of a scene. Returns whether a state was cut.
 *
 * @param byMs - The instant from which it has no effect.
 */
async function heal({ store, key }: Scene, { policies }: ScenePlan, byMs?: number): Promise<boolean | undefined> {
  const named = policies.map((policy, i) => ({ ...policy, name: `p${String(i)}` }));
  const policyList = namePolicies(policies.length === 1 ? policies[0] : named, 'law');
  const limit = { policies: policyList, keySuffix: keySuffixOf('law', policyList) };
  const part = { limit, subject: encodeSubject(key), cost: 0 };
  const [answer] = await store.perform([{ op: 'heal', part, ...(byMs === undefined ? {} : { byMs }) }]);
  if (answer === undefined || answer instanceof Error) throw answer ?? new Error('no answer');
  return answer.healed;
}

/** How long the full states of the policies of a plan last from an instant. */
function longestMs({ policies }: ScenePlan, nowMs: number): number {
  return Math.max(
    ...policies.map((policy, i) => {
      const [{ algorithm, policy: parsed }] = namePolicies(policy, `p${String(i)}`) as [
        ReturnType<typeof namePolicies>[0],
      ];
      return algorithm.resetAtMs(parsed, algorithm.migrate(parsed, 2 ** 52, nowMs)) - nowMs;
    }),
  );
}

const remainingOf = ({ policies }: Decision): readonly number[] => policies.map(({ remaining }) => remaining);

describe.each(sceneKinds)('law 5, $kind: heal', ({ plans }) => {
  it.each(backends)('ends a state that was written ahead within one window, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { clockGoesBack: true, edits: false });
      const { limiter, key, clock, random } = scene;
      clock.atMs -= random.pick([0, 1, random.integer(0, 100_000), 3_600_000]);
      const before = await limiter.peek(key, 0);

      await heal(scene, plan);

      const after = await limiter.peek(key, 0);
      expect(after.resetAfterMs).toBeLessThanOrEqual(Math.max(longestMs(plan, after.atMs), 0));
      remainingOf(after).forEach((remaining, i) => {
        expect(remaining).toBeLessThanOrEqual(remainingOf(before)[i] ?? 0);
      });
      expect(await heal(scene, plan)).toBe(false);
    });
  });

  it.each(backends)('changes nothing from its last instant on, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { edits: false });
      const { limiter, key, clock } = scene;
      clock.atMs -= 3_600_000;
      const before = await limiter.peek(key, 0);

      expect(await heal(scene, plan, clock.atMs)).toBe(false);

      expect(await limiter.peek(key, 0)).toEqual(before);
    });
  });

  it.each(backends)('changes nothing while the clock goes on, in $name', async (backend) => {
    await forAll(plans, backend.runs, async (plan) => {
      const scene = await open(backend, plan, { charges: false });
      const before = await scene.limiter.peek(scene.key, 0);

      expect(await heal(scene, plan)).toBe(false);

      expect(await scene.limiter.peek(scene.key, 0)).toEqual({ ...before });
    });
  });
});
