import { describe, expect, it } from '@jest/globals';
import { cases, testSeed } from '@sluice/testkit';
import { brokenWorlds, floods, heldUp } from './simulation/lives.ts';

/** A longer search: SLUICE_WORLDS=20000 SLUICE_SEED=... */
const SEED = testSeed(1);
const WORLDS = Number(process.env['SLUICE_WORLDS'] ?? cases(6));

describe('processes that lease a key, crash, are stopped, suspended, cut off and answered late', () => {
  it('are never allowed more often than its policies say', async () => {
    expect(await brokenWorlds(SEED, WORLDS)).toEqual([]);
  });
});

describe('processes that hold slices of a full bucket, and all ask for more than there is', () => {
  it('are allowed no more than it holds', async () => {
    const world = await floods(SEED);

    expect(world.broken()).toEqual([]);
    expect(world.leased).toBeGreaterThan(1000);
  });
});

describe('a process whose give-back reaches the store when its units have been refilled', () => {
  it('gives back nothing, so that no more is allowed than the bucket holds and refills', async () => {
    const world = await heldUp(SEED);

    expect(world.broken()).toEqual([]);
    expect(world.leased).toBeGreaterThan(1000);
  });
});
