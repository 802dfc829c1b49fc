import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { silenceWarnings } from '../../src/warnings.ts';
import { livePolling } from './worlds/polled-world.ts';
import { liveOnRedis, planOf, RedisWorld, settle } from './worlds/redis-world.ts';

silenceWarnings('SLUICE_UNIT_MISSING');

/** A longer search: SLUICE_WORLDS=20000 SLUICE_SEED=... */
const SEED = testSeed(1);
const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(220)) / 2;

const seeds = (from: number, count: number): readonly number[] => Array.from({ length: count }, (_, i) => from + i);

describe('instances that come and go, are cut off, slow, stopped, suspended, or change their weight', () => {
  it.each([3, 100])('allow together no more than the limit at any time, by weights up to %i', async (heaviest) => {
    for (const seed of seeds(SEED + heaviest * 100_000, 0.9 * WORLDS)) {
      const world = await liveOnRedis(seed, heaviest);

      expect({ seed, plan: world.plan, excess: world.excess() }).toMatchObject({ excess: [] });
    }
  });

  // The share of a bucket whose lightest member is that light is due in hours.
  it.each([
    [3, ['fixed', 'sliding', 'bucket']],
    [100, ['fixed', 'sliding']],
  ] as const)(
    'have all of the limit some time after the last trouble, by weights up to %i',
    async (heaviest, kinds) => {
      for (const seed of seeds(SEED + (heaviest + 1) * 100_000, 0.1 * WORLDS)) {
        const world = await liveOnRedis(seed, heaviest);
        const allowed = await settle(world, kinds);

        expect({ seed, allowed }).toEqual({ seed, allowed: kinds.map(() => world.plan.units) });
        expect({ seed, excess: world.excess() }).toEqual({ seed, excess: [] });
      }
    },
  );

  it('have their share again though many of their heartbeats were never answered', async () => {
    const random = seeded(1);
    const plan = { ...planOf(random, 1), heartbeatMs: 100, ttlMs: 400, graceMs: 500, units: 37 };
    const world = new RedisWorld(plan, random);
    world.startAnywhere();
    world.startAnywhere();
    for (const instance of world.live) instance.isCutOff = true;
    await world.time.runUntil(world.time.nowMs + 60_000);

    await world.heal(['sliding']);

    expect(world.grabAll('sliding', 'fresh')).toBe(37);
  });
});

describe('instances that poll a registry', () => {
  it('allow together no more than the limit, if it changes at most once in ttlMs, and is late, away and empty', async () => {
    for (const seed of seeds(SEED, 0.75 * WORLDS)) {
      const world = await livePolling(seed);

      expect({ seed, excess: world.excess() }).toEqual({ seed, excess: [] });
    }
  });

  it('have all of the limit again some time after the last trouble', async () => {
    for (const seed of seeds(SEED, 0.15 * WORLDS)) {
      const world = await livePolling(seed);
      await world.heal();
      const allowed = [world.grabAll('fixed', 'fresh'), world.grabAll('sliding', 'fresh')];

      expect({ seed, allowed }).toEqual({ seed, allowed: [world.plan.units, world.plan.units] });
    }
  });
});
