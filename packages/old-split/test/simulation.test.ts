import { describe, expect, it } from '@jest/globals';
import { silenceWarnings } from '@sluice/old-core';
import { cases, seeded, testSeed } from '@sluice/testkit';
import { planOf, worldsOfExcess, worldsUnsettled } from './simulation/schedules.ts';
import { World } from './simulation/world.ts';

silenceWarnings('SLUICE_SPLIT_SHARE_ZERO');

/** A longer search: SLUICE_WORLDS=20000 SLUICE_SEED=... Half of them are here, the heavier ones beside. */
const SEED = testSeed(1);
const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(240)) / 2;
const HEAVIEST = 3;

describe('instances that come and go, are cut off, slow, stopped, suspended, or change their weight', () => {
  it('allow together no more than the limit at any time', async () => {
    expect(await worldsOfExcess(SEED, 0.9 * WORLDS, HEAVIEST)).toEqual([]);
  });

  it('together have all of the limit when nothing has changed for the time that each kind of policy needs', async () => {
    const kinds = ['fixed', 'sliding', 'bucket'] as const;

    expect(await worldsUnsettled(SEED + 0.9 * WORLDS, 0.1 * WORLDS, HEAVIEST, kinds)).toEqual([]);
  });

  it('have their share again though many of their heartbeats were never answered', async () => {
    const random = seeded(1);
    const world = new World({ ...planOf(random, 1), heartbeatMs: 100, ttlMs: 400, graceMs: 500, units: 37 }, random);
    const instances = [world.start(), world.start()];
    for (const instance of instances) instance.isCutOff = true;
    await world.time.runUntil(world.time.nowMs + 60_000);

    await world.heal();
    await world.listed();
    await world.time.runUntil(world.dueAtMs('sliding'));

    expect(world.grabAll('sliding', 'fresh')).toBe(37);
  });
});
