import { describe, expect, it } from '@jest/globals';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { silenceWarnings } from '../../src/index.ts';
import { planOf, worldsOfExcess, worldsUnsettled } from './worlds/redis-schedules.ts';
import { World } from './worlds/redis-world.ts';

silenceWarnings('SLUICE_SPLIT_SHARE_ZERO', 'SLUICE_UNIT_MISSING');

/** A longer search: SLUICE_WORLDS=20000 SLUICE_SEED=... */
const SEED = testSeed(1);
const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(240)) / 2;

describe('instances that come and go, are cut off, slow, stopped, suspended, or change their weight', () => {
  it.each([3, 100])('allow together no more than the limit at any time, by weights up to %i', async (heaviest) => {
    expect(await worldsOfExcess(SEED + heaviest * 100_000, 0.9 * WORLDS, heaviest)).toEqual([]);
  });

  // The share of a bucket whose lightest member is that light is due in hours.
  it.each([
    [3, ['fixed', 'sliding', 'bucket']],
    [100, ['fixed', 'sliding']],
  ] as const)('have all of the limit when it is due, by weights up to %i', async (heaviest, kinds) => {
    expect(await worldsUnsettled(SEED + (heaviest + 1) * 100_000, 0.1 * WORLDS, heaviest, kinds)).toEqual([]);
  });

  it('have their share again though many of their heartbeats were never answered', async () => {
    const random = seeded(1);
    const world = new World({ ...planOf(random, 1), heartbeatMs: 100, ttlMs: 400, graceMs: 500, units: 37 }, random);
    const both = [world.start(), world.start()];
    for (const instance of both) instance.isCutOff = true;
    await world.time.runUntil(world.time.nowMs + 60_000);

    await world.heal();
    await world.listed();
    await world.time.runUntil(world.dueAtMs('sliding'));

    expect(world.grabAll('sliding', 'fresh')).toBe(37);
  });
});
